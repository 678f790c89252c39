// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonObject;
import io.sidbeam.SidbeamException;
import io.sidbeam.Status;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeoutException;

/** An error as the client is told it. */
final class Refusal extends RuntimeException {
  private static final long serialVersionUID = 1;

  /** The place of a mistake that is none of a member. */
  static final String BODY = "body";
  static final int MAX_BODY = 1 << 20;
  static final int MAX_HEADERS = 16 << 10;

  static final Refusal STARTING = new Refusal(503, "starting", "the model and the index are being opened");
  static final Refusal DRAINING = new Refusal(503, "draining", "the service is about to end");
  static final Refusal TOO_MANY_REQUESTS = new Refusal(503, "overloaded", "as many requests run as may");
  static final Refusal TOO_MANY_CONNECTIONS = new Refusal(503, "overloaded", "as many connections are open as may");
  static final Refusal TOO_LARGE = new Refusal(413, "too_large", "the body is longer than " + MAX_BODY + " bytes");
  static final Refusal HEADERS_TOO_LARGE =
      new Refusal(431, "headers_too_large", "the headers are longer than " + MAX_HEADERS + " bytes");
  static final Refusal HEADERS_TOO_SLOW = new Refusal(408, "timeout", "the headers did not come in time");
  static final Refusal BODY_TOO_SLOW = new Refusal(408, "timeout", "the body did not come in time");
  static final Refusal TOO_LATE = new Refusal(504, "deadline_exceeded", "the time of the request is over");

  /** What metrics and logs call a request whose client did not wait for the answer. */
  static final Refusal HUNG_UP = new Refusal(499, "cancelled", "the client hung up");

  final int status;
  final String code;
  final String path; // of a mistake: where it is; or null

  private Refusal(int status, String code, String message, String path) {
    super(message, null, false, false); // nobody looks where it was made
    this.status = status;
    this.code = code;
    this.path = path;
  }

  Refusal(int status, String code, String message) {
    this(status, code, message, null);
  }

  /** A client's mistake, whose message goes on from its place. */
  static Refusal wrong(String path, String message) {
    return mistake(path, (path.equals(BODY) ? "the body " : path + " ") + message);
  }

  /** A client's mistake, with a message of its own. */
  static Refusal mistake(String path, String message) {
    return new Refusal(400, "invalid_argument", message, path);
  }

  /** What is no HTTP has no place. */
  static Refusal noHttp(String why) {
    return new Refusal(400, "invalid_argument", "this is no HTTP that can be served: " + why);
  }

  /** What a service of this kind of index does not do. */
  static Refusal conflict(String message) {
    return new Refusal(409, "conflict", message);
  }

  /** What the client is told of any failure: the service is busy or on its way out, or this is its own fault. */
  static Refusal of(Throwable e) {
    if (e instanceof CompletionException && e.getCause() != null) {
      return of(e.getCause());
    }
    if (e instanceof Refusal refusal) {
      return refusal;
    }
    if (e instanceof CancellationException) {
      return HUNG_UP;
    }
    if (e instanceof TimeoutException) {
      return TOO_LATE;
    }
    Status status = e instanceof SidbeamException failed ? failed.status() : Status.UNKNOWN;
    return switch (status) {
      case QUEUE_FULL -> new Refusal(503, "queue_full", e.getMessage());
      case DEADLINE_EXCEEDED -> new Refusal(504, "deadline_exceeded", e.getMessage());
      case CANCELLED -> DRAINING; // nobody but the end of the service cancels what has not been given up
      default -> new Refusal(500, "internal", e instanceof SidbeamException ? e.getMessage()
          : "this is a fault of the service, whose log has more");
    };
  }

  /** The body of the answer. */
  JsonObject json(String requestId) {
    JsonObject error = Json.of("code", code, "message", getMessage(), "request_id", requestId);
    if (path != null) {
      error.addProperty("path", path);
    }
    return Json.of("error", error);
  }
}
