// SPDX-License-Identifier: Apache-2.0
package service;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObject;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * A connection: its requests are answered one after the other, each within its times. All is done on the thread of its
 * channel.
 */
final class Connection extends ChannelInboundHandlerAdapter {
  /** What a client may take for its answer. */
  private static final Duration SEND_TIME = Duration.ofSeconds(30);
  private static final Refusal UNREADABLE = Refusal.wrong(Refusal.BODY, "cannot be read");

  private final Front front;
  private final boolean tooMany; // connections
  private final Queue<HttpObject> waiting = new ArrayDeque<>(); // for the answer to what came before
  private Channel channel;
  private Exchange exchange; // that is read or answered; null: none
  private boolean reading; // its body is still to come, or if it was answered, to be passed over
  private boolean sending;
  private boolean ended; // nothing is read any more
  private boolean proceeding;
  private long since; // the first byte of a request, by System.nanoTime(); 0: none has come
  private Future<?> timer;

  Connection(Front front, boolean tooMany) {
    this.front = front;
    this.tooMany = tooMany;
  }

  @Override
  public void channelActive(ChannelHandlerContext context) {
    channel = context.channel();
    if (tooMany) {
      end(front.refuse(Refusal.TOO_MANY_CONNECTIONS));
    } else {
      rest();
    }
  }

  /** Nothing runs: a request may come. */
  private void rest() {
    since = 0;
    arm(front.options.idleTime, channel::close);
  }

  private void arm(Duration time, Runnable late) {
    disarm();
    timer = channel.eventLoop().schedule(late, time.toNanos(), TimeUnit.NANOSECONDS);
  }

  private void disarm() {
    if (timer != null) {
      timer.cancel(false);
    }
  }

  @Override
  public void userEventTriggered(ChannelHandlerContext context, Object event) {
    if (event == Lingering.BYTES && since == 0 && !ended) {
      since = System.nanoTime();
      arm(front.options.headerTime, () -> end(front.refuse(Refusal.HEADERS_TOO_SLOW)));
    }
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    waiting.add((HttpObject) message);
    proceed();
  }

  /** Takes what has come. Where something waits for an answer, no more is read: no client can fill the memory. */
  private void proceed() {
    if (proceeding) {
      return; // an answer was there at once
    }
    proceeding = true;
    while (!waiting.isEmpty() && (ended || !sending && (exchange == null || reading))) {
      HttpObject message = waiting.remove();
      try {
        take(message);
      } finally {
        ReferenceCountUtil.release(message);
      }
    }
    proceeding = false;
    channel.config().setAutoRead(ended || waiting.isEmpty());
  }

  private void take(HttpObject message) {
    if (ended || !channel.isActive()) {
      return;
    }
    if (message instanceof HttpRequest head) {
      begin(head);
    }
    if (message instanceof HttpContent part && reading) {
      read(part);
    }
  }

  private void begin(HttpRequest head) {
    try {
      Heads.check(head);
      exchange = new Exchange(head, channel.eventLoop());
    } catch (Refusal e) {
      end(front.refuse(e));
      return;
    }
    reading = true;
    since = since == 0 ? exchange.begin : since;
    arm(front.options.bodyTime.minusNanos(exchange.begin - since), this::bodyIsLate);
    try {
      front.admit(exchange);
      if (exchange.route.body == Route.Body.UNREAD) {
        serve();
      } else if (HttpUtil.is100ContinueExpected(head)) {
        channel.writeAndFlush(new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.CONTINUE));
      }
    } catch (Refusal e) {
      refuse(e, false);
    }
  }

  private void bodyIsLate() {
    if (isUnserved()) {
      refuse(Refusal.BODY_TOO_SLOW, true);
    } else {
      channel.close();
    }
  }

  /** Whether the exchange waits for its body. */
  private boolean isUnserved() {
    return exchange != null && !exchange.served;
  }

  private void read(HttpContent part) {
    boolean broken = part.decoderResult().isFailure();
    reading = !(part instanceof LastHttpContent) || broken;
    if (!reading) {
      disarm();
    }
    try {
      if (broken && !isUnserved()) {
        channel.close();
      } else if (broken) {
        throw UNREADABLE;
      } else if (isUnserved()) {
        exchange.add(part.content());
      }
    } catch (Refusal e) {
      refuse(e, true);
    }
    if (!reading && isUnserved()) {
      serve();
    } else if (!reading && exchange == null && !sending && !ended) {
      rest();
    }
  }

  private void serve() {
    Exchange served = exchange;
    served.served = true;
    front.serve(served).thenAccept(answer -> {
      if (channel.eventLoop().inEventLoop()) {
        answer(served, answer);
      } else {
        channel.eventLoop().execute(() -> answer(served, answer));
      }
    });
  }

  private void answer(Exchange served, Answer answer) {
    if (exchange == served) {
      answer(answer, false);
    }
  }

  private void refuse(Refusal refusal, boolean closes) {
    answer(front.refuse(exchange, refusal), closes);
  }

  private void answer(Answer answer, boolean closes) {
    HttpRequest head = exchange.head;
    exchange = null;
    boolean stays = !closes && !front.isDraining() && HttpUtil.isKeepAlive(head) && (!reading || Heads.isShort(head));
    send(answer, head, stays);
  }

  /** Ends the connection with an answer to what is no request. */
  private void end(Answer answer) {
    send(answer, null, false);
  }

  private void send(Answer answer, HttpRequest head, boolean stays) {
    byte[] text = answer.body().getBytes(UTF_8);
    boolean bare = head != null && head.method().equals(HttpMethod.HEAD);
    FullHttpResponse response = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1,
        HttpResponseStatus.valueOf(answer.status()), bare ? Unpooled.EMPTY_BUFFER : Unpooled.wrappedBuffer(text));
    answer.headers().forEach(response.headers()::set);
    response.headers().setInt(HttpHeaderNames.CONTENT_LENGTH, text.length);
    if (!stays || head.protocolVersion().equals(HttpVersion.HTTP_1_0)) {
      response.headers().set(HttpHeaderNames.CONNECTION, stays ? HttpHeaderValues.KEEP_ALIVE : HttpHeaderValues.CLOSE);
    }
    ended = !stays;
    sending = true;
    ChannelFuture sent = channel.writeAndFlush(response);
    if (!sent.isDone()) {
      arm(SEND_TIME, channel::close);
    }
    sent.addListener(done -> sent());
  }

  private void sent() {
    sending = false;
    if (ended) {
      disarm();
      channel.close();
    } else if (reading) {
      arm(front.options.bodyTime, channel::close);
    } else {
      rest();
    }
    proceed();
  }

  /** The client has hung up. */
  @Override
  public void channelInactive(ChannelHandlerContext context) {
    ended = true;
    disarm();
    proceed();
    if (exchange != null) {
      boolean unserved = isUnserved();
      exchange.gone.complete(null);
      if (unserved) {
        front.refuse(exchange, Refusal.HUNG_UP);
      }
      exchange = null;
    }
  }

  @Override
  public void exceptionCaught(ChannelHandlerContext context, Throwable cause) {
    if (cause instanceof DecoderException && isUnserved()) { // Netty 4.1.48 fails so on a chunk of -1 bytes
      refuse(UNREADABLE, true);
      return;
    }
    if (!(cause instanceof IOException || cause instanceof DecoderException)) { // a reset, or what is no HTTP
      front.events.failed(cause);
    }
    channel.close();
  }
}
