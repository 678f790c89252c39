// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Forgets an index and a session, and prints so many messages that this brings; run by ProcessTest. */
final class LeakProgram {
  private static final Set<String> MESSAGES = new ConcurrentSkipListSet<>();
  private static final Logger LOGGER = Logger.getLogger("io.sidbeam"); // kept, or its handlers go

  private LeakProgram() {}

  /** What is closed is no leak, nor is the constraint that an index makes for itself. */
  private static void forget(ByteBuffer bytes) {
    Index index = Index.fromBuffer(bytes, new OpenConfig());
    new Session(new SessionConfig(index));
    try (Constraint closed = new Constraint(index)) {
      new Session(new SessionConfig(closed)).close();
    }
  }

  private static void take(LogRecord message) {
    Throwable made = message.getThrown();
    MESSAGES.add(message.getLevel() + " " + message.getMessage() + (made == null ? "" : ": " + made.getMessage() + ": "
        + Arrays.stream(made.getStackTrace()).filter(frame -> frame.getClassName().equals(LeakProgram.class.getName()))
            .findFirst().orElseThrow().getMethodName()));
  }

  public static void main(String[] arguments) throws Exception {
    LOGGER.setUseParentHandlers(false);
    LOGGER.addHandler(new Handler() {
      @Override
      public void publish(LogRecord message) {
        take(message);
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    });
    Path file = Files.createTempFile("sidbeam", ".sidx");
    try (Builder builder = new Builder(new BuilderConfig(4, 4))) {
      builder.add(new int[] {0, 1});
      builder.write(file);
    }
    byte[] bytes = Files.readAllBytes(file);
    Files.delete(file);
    forget(Buffers.bytes(bytes.length).put(0, bytes));
    while (Loans.count() > 0 || MESSAGES.size() < Integer.parseInt(arguments[0])) {
      System.gc();
      Thread.onSpinWait();
    }
    MESSAGES.forEach(System.out::println);
  }
}
