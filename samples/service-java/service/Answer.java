// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonElement;
import java.util.Map;
import java.util.TreeMap;

/**
 * What is sent.
 *
 * @param headers besides Content-Length and Connection
 */
record Answer(int status, Map<String, String> headers, String body) {
  private static Answer of(int status, String type, String body) {
    Map<String, String> headers = new TreeMap<>();
    headers.put("Content-Type", type);
    return new Answer(status, headers, body);
  }

  static Answer json(String text) {
    return of(200, "application/json", text + "\n");
  }

  static Answer json(JsonElement value) {
    return json(value.toString());
  }

  /** Of metrics, as Prometheus takes them. */
  static Answer text(String text) {
    return of(200, "text/plain; version=0.0.4; charset=utf-8", text);
  }

  static Answer of(Refusal refusal, String requestId) {
    Answer answer = of(refusal.status, "application/json", refusal.json(requestId) + "\n");
    if (refusal.status == 401) {
      answer.headers.put("WWW-Authenticate", "Bearer");
    }
    if (refusal.status == 503) {
      answer.headers.put("Retry-After", "1");
    }
    return answer;
  }
}
