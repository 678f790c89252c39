// SPDX-License-Identifier: Apache-2.0
package service;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Instant;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.time.temporal.ChronoUnit;
import java.util.Map;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** The log: a line for each event, as text or as JSON, by the names of the contract (x-log). */
final class Events {
  private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSS")
      .withZone(ZoneId.systemDefault());

  private final OutputStream out = new FileOutputStream(FileDescriptor.err); // not buffered: a line is one write
  private final boolean asJson;

  Events(boolean asJson) {
    this.asJson = asJson;
  }

  void info(String event, Object... members) {
    write("info", event, Json.of(members));
  }

  void info(String event, JsonObject members) {
    write("info", event, members);
  }

  void warn(String event, Object... members) {
    write("warning", event, Json.of(members));
  }

  /** Something that nobody expected. */
  void failed(String message) {
    write("error", "failed", Json.of("message", message));
  }

  void failed(Throwable e) {
    failed(traceOf(e));
  }

  /** In a request. */
  void failed(String requestId, Throwable e) {
    write("error", "failed", Json.of("request_id", requestId, "message", traceOf(e)));
  }

  private static String traceOf(Throwable e) {
    StringWriter text = new StringWriter();
    e.printStackTrace(new PrintWriter(text, true));
    return text.toString();
  }

  private void write(String level, String event, JsonObject members) {
    Instant now = Instant.now();
    StringBuilder line = new StringBuilder();
    if (asJson) {
      JsonObject all = Json.of("time", now.truncatedTo(ChronoUnit.MICROS).toString(), "level", level, "event", event);
      members.entrySet().forEach(member -> all.add(member.getKey(), member.getValue()));
      line.append(all);
    } else {
      line.append(CLOCK.format(now)).append(' ').append(event);
      for (Map.Entry<String, JsonElement> member : members.entrySet()) {
        line.append(' ').append(member.getKey()).append('=').append(member.getValue());
      }
    }
    byte[] bytes = line.append('\n').toString().getBytes(UTF_8);
    synchronized (out) {
      try {
        out.write(bytes);
      } catch (IOException e) {
        // Where nobody reads the log, the service goes on.
      }
    }
  }

  /** Makes events of what libraries log. */
  void takeLogs() {
    Logger root = Logger.getLogger("");
    for (Handler handler : root.getHandlers()) {
      root.removeHandler(handler);
    }
    root.addHandler(new Handler() {
      @Override
      public void publish(LogRecord entry) {
        if (entry.getLevel().intValue() >= Level.WARNING.intValue()) {
          failed(entry.getThrown() == null ? entry.getMessage() : entry.getMessage() + ": " + entry.getThrown());
        }
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    });
  }
}
