// SPDX-License-Identifier: Apache-2.0
package service;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoop;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** A request on its way to its answer. */
final class Exchange {
  private static final String TIMEOUT = "X-Request-Timeout-Ms";
  private static final int MOST_TIMEOUT = 86_400_000;
  private static final int SHORT = 8 << 10; // bytes

  final HttpRequest head;
  final EventLoop loop; // the thread of its connection
  final Target target;
  final Route route; // null: there is none of this path
  final Trace trace;
  final long begin = System.nanoTime();
  final CompletableFuture<Void> gone = new CompletableFuture<>(); // done when the client has hung up
  Service service; // null: it is being opened
  boolean counted; // among the requests that run
  boolean served; // its answer is being made
  private final ByteArrayOutputStream body = new ByteArrayOutputStream();

  Exchange(HttpRequest head, EventLoop loop) {
    this.head = head;
    this.loop = loop;
    target = Target.of(head.uri());
    route = Route.of(target);
    trace = Trace.of(head.headers());
  }

  /** Refuses a body of which the headers say that it is no JSON, or too long. */
  void checkBody() {
    CharSequence type = HttpUtil.getMimeType(head);
    if (route.body == Route.Body.JSON
        && (type == null || !type.toString().strip().equalsIgnoreCase("application/json"))) {
      throw new Refusal(415, "unsupported_media_type", "Content-Type is "
          + Json.quote(Json.cut(head.headers().get(HttpHeaderNames.CONTENT_TYPE, ""))) + ", expected application/json");
    }
    if (HttpUtil.getContentLength(head, 0L) > Refusal.MAX_BODY) {
      throw Refusal.TOO_LARGE;
    }
  }

  /** Takes a part of the body. */
  void add(ByteBuf part) {
    if (body.size() + part.readableBytes() > Refusal.MAX_BODY) {
      throw Refusal.TOO_LARGE;
    }
    try {
      part.readBytes(body, part.readableBytes());
    } catch (IOException e) {
      throw new AssertionError(e); // it is in memory
    }
  }

  /** Whether its body takes no time to be read. */
  boolean isShort() {
    return body.size() <= SHORT;
  }

  String body() {
    return text(body.toByteArray(), Refusal.BODY);
  }

  /** Expects no body, or {}. */
  void none() {
    String text = body();
    if (!text.isBlank()) {
      Fields.body(text, List.of());
    }
  }

  static String text(byte[] bytes, String path) {
    try {
      return UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw Refusal.wrong(path, "is not UTF-8");
    }
  }

  /** When its time is over, by System.nanoTime(): the client's, where that of the service is not shorter. */
  long deadline(Duration most) {
    for (String text : head.headers().getAll(TIMEOUT)) {
      if (!text.matches("[1-9][0-9]{0,7}") || Integer.parseInt(text) > MOST_TIMEOUT) {
        throw Refusal.wrong(TIMEOUT, "is " + Json.quote(Json.cut(text)) + ", expected milliseconds, 1 .. "
            + MOST_TIMEOUT);
      }
      Duration own = Duration.ofMillis(Integer.parseInt(text));
      most = own.compareTo(most) < 0 ? own : most;
    }
    return begin + most.toNanos();
  }
}
