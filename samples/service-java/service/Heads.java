// SPDX-License-Identifier: Apache-2.0
package service;

import io.netty.handler.codec.TooLongFrameException;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** What Netty's decoder leaves to say of a request's line and headers. */
final class Heads {
  private static final int LINE = "  HTTP/1.1\r\n\r\n".length(); // beside method and target, with the empty line
  private static final int FIELD = ": \r\n".length(); // beside name and value

  private static final Pattern METHOD = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");

  /** A path, a URI with its scheme, or the server as such. */
  private static final Pattern TARGET = Pattern.compile("(?:/|[A-Za-z][A-Za-z0-9+.-]*:)[!-~]*|\\*");

  private Heads() {}

  /** Refuses what is no HTTP, or too long. */
  static void check(HttpRequest head) {
    Throwable cause = head.decoderResult().cause();
    if (cause instanceof TooLongFrameException || cause == null && size(head) > Refusal.MAX_HEADERS) {
      throw Refusal.HEADERS_TOO_LARGE;
    }
    if (cause != null) {
      throw Refusal.noHttp(Json.cut(String.valueOf(cause.getMessage())));
    }
    HttpVersion version = head.protocolVersion();
    if (!version.equals(HttpVersion.HTTP_1_1) && !version.equals(HttpVersion.HTTP_1_0)) {
      throw Refusal.noHttp("it is " + Json.cut(version.text()));
    }
    if (!METHOD.matcher(head.method().name()).matches()) {
      throw Refusal.noHttp("its method is " + Json.quote(Json.cut(head.method().name())));
    }
    if (!head.method().equals(HttpMethod.CONNECT) && !TARGET.matcher(head.uri()).matches()) {
      throw Refusal.noHttp("its target is " + Json.quote(Json.cut(head.uri())));
    }
    List<String> hosts = head.headers().getAll(HttpHeaderNames.HOST);
    if (hosts.size() > 1 || hosts.isEmpty() && version.equals(HttpVersion.HTTP_1_1)) {
      throw Refusal.noHttp("it has " + hosts.size() + " Host headers");
    }
    List<String> codings = head.headers().getAll(HttpHeaderNames.TRANSFER_ENCODING);
    if (!codings.isEmpty() && !(codings.size() == 1 && codings.get(0).equalsIgnoreCase("chunked"))) {
      throw Refusal.noHttp("its Transfer-Encoding is " + Json.cut(codings.toString()));
    }
    if (version.equals(HttpVersion.HTTP_1_1) && head.headers().contains(HttpHeaderNames.EXPECT)
        && !HttpUtil.is100ContinueExpected(head)) {
      throw Refusal.noHttp("it expects " + Json.cut(head.headers().get(HttpHeaderNames.EXPECT)));
    }
  }

  private static int size(HttpRequest head) {
    int size = head.method().name().length() + head.uri().length() + LINE;
    for (Map.Entry<String, String> field : head.headers()) {
      size += field.getKey().length() + field.getValue().length() + FIELD;
    }
    return size;
  }

  /** Whether what is to come of its body is worth being read, where nobody needs it. */
  static boolean isShort(HttpRequest head) {
    return !HttpUtil.isTransferEncodingChunked(head) && !HttpUtil.is100ContinueExpected(head)
        && HttpUtil.getContentLength(head, 0L) <= Refusal.MAX_BODY;
  }
}
