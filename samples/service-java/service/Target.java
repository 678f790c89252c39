// SPDX-License-Identifier: Apache-2.0
package service;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;

/**
 * The path of a request.
 *
 * @param octets decoded, a character for each byte: which of them are UTF-8 is for the route to say
 */
record Target(String octets) {
  /** Of the target of a request's line: without a query, and of a proxy's form without scheme and host. */
  static Target of(String uri) {
    int scheme = uri.indexOf("://");
    int begin = uri.startsWith("/") || scheme < 0 ? 0 : uri.indexOf('/', scheme + 3);
    String path = begin < 0 ? "/" : uri.substring(begin);
    int query = path.indexOf('?');
    try {
      path = query < 0 ? path : path.substring(0, query);
      return new Target(URLDecoder.decode(path.replace("+", "%2B"), ISO_8859_1));
    } catch (IllegalArgumentException e) {
      throw Refusal.noHttp("a percent sign in the path without two digits");
    }
  }

  /** What follows so many bytes. */
  byte[] after(int count) {
    return octets.substring(count).getBytes(ISO_8859_1);
  }

  /** For people. */
  @Override
  public String toString() {
    return Json.cut(new String(after(0), UTF_8));
  }
}
