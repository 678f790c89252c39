// SPDX-License-Identifier: Apache-2.0
package service;

import io.netty.handler.codec.http.HttpHeaders;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** By what logs know a request: its id, and W3C's trace context, which may be null. */
record Trace(String requestId, String traceId, String parentId) {
  private static final Pattern REQUEST_ID = Pattern.compile("[A-Za-z0-9._-]{1,128}");
  private static final Pattern TRACE_PARENT =
      Pattern.compile("(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?");
  private static final SecureRandom RANDOM = new SecureRandom();

  static Trace of(HttpHeaders headers) {
    String id = headers.get("X-Request-Id", "");
    id = REQUEST_ID.matcher(id).matches() ? id : newId();
    Matcher parts = TRACE_PARENT.matcher(headers.get("traceparent", ""));
    boolean known = parts.matches() && (parts.group(4) == null || !parts.group(1).equals("00"));
    return new Trace(id, known ? parts.group(2) : null, known ? parts.group(3) : null);
  }

  static String newId() {
    byte[] id = new byte[16];
    RANDOM.nextBytes(id);
    return HexFormat.of().formatHex(id);
  }
}
