// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.function.Executable;

/** What the tests share: small catalogues, processes, and how failures are compared. */
final class Fixtures {
  /** Eight items, each a SID of two codes out of four; item i has id 10 * i, and the last two share SID (3, 3). */
  static final int[] CATALOGUE = {0, 1, 0, 3, 2, 2, 1, 0, 1, 1, 3, 0, 3, 3, 3, 3};

  /** When a test gives up waiting. */
  static final Duration LONG = Duration.ofSeconds(60);

  static final Path JAR = Path.of(System.getProperty("sidbeam.test.jar")).toAbsolutePath();

  private Fixtures() {}

  static Builder builder(BuilderConfig config) {
    Builder builder = new Builder(config);
    builder.add(CATALOGUE, null, new long[] {0, 10, 20, 30, 40, 50, 60, 70}, null);
    return builder;
  }

  static Index index(Kind... kinds) {
    try (Builder builder = builder(new BuilderConfig(4, 4).kinds(kinds))) {
      return builder.finish();
    }
  }

  static Index index() {
    return index(Kind.TRIE);
  }

  static Path write(Path file) {
    try (Builder builder = builder(new BuilderConfig(4, 4))) {
      builder.write(file);
    }
    return file;
  }

  /** A catalogue of all kinds, whose build takes tenths of a second on a usual machine. */
  static Builder large() {
    Builder builder = new Builder(new BuilderConfig(2048, 2048, 2048, 2048).kinds(Kind.values()).threads(1));
    int[] codes = new Random(1).ints(4L * 2_000_000, 0, 2048).toArray();
    builder.add(codes);
    return builder;
  }

  /** Builds over and over until that is refused: no machine is too fast for what is to happen meanwhile. */
  static void buildUntilRefused(Builder builder, Runnable build) {
    builder.build(() -> {
      for (long begin = System.nanoTime(); System.nanoTime() - begin < LONG.toNanos();) {
        build.run();
      }
      throw new AssertionError("no build was refused");
    });
  }

  /**
   * Collects garbage and lets the cleaner see to it. One collection after the other would stop all threads again before
   * a busy machine has let them run.
   */
  static void collect() throws InterruptedException {
    CountDownLatch cleaned = new CountDownLatch(1);
    NativeObject.CLEANER.register(new Object(), cleaned::countDown);
    System.gc();
    cleaned.await(1, TimeUnit.SECONDS);
  }

  /** Collects garbage until the wanted number of buffers is lent. */
  static void collectUntil(int lent) {
    assertTimeoutPreemptively(LONG, () -> {
      while (Loans.count() != lent) {
        collect();
      }
    }, "never given back");
  }

  /** One row of four logits for every beam of a slot. */
  static Rows row(float... logits) {
    FloatBuffer buffer = Buffers.floats(logits);
    return Rows.strided(buffer, 1, 2, logits.length, 0, Rows.BROADCAST);
  }

  static SidbeamException refused(Status status, String message, Executable call) {
    SidbeamException e = assertThrows(SidbeamException.class, call);
    assertEquals(status, e.status(), e.getMessage());
    assertTrue(message.contains(" "), "expected a phrase of: " + e.getMessage());
    assertTrue(e.getMessage().contains(message), e.getMessage());
    return e;
  }

  record Finished(int status, String output) {}

  /** Runs this test's own JVM in a folder; returns its output and errors together. */
  static Finished java(Path folder, String... arguments) throws IOException, InterruptedException {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    command.addAll(List.of(arguments));
    Path output = Files.createTempFile("sidbeam", ".log");
    try {
      ProcessBuilder builder = new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
      builder.environment().remove("SIDBEAM_NATIVE_DIR");
      int status = builder.redirectOutput(output.toFile()).start().waitFor();
      return new Finished(status, Files.readString(output));
    } finally {
      Files.delete(output);
    }
  }

  /** What goes to the logger "io.sidbeam" meanwhile: "LEVEL message". */
  static List<String> logged(Runnable run) {
    List<String> messages = new ArrayList<>();
    Handler handler = new Handler() {
      @Override
      public void publish(LogRecord message) {
        messages.add(message.getLevel() + " " + message.getMessage());
      }

      @Override
      public void flush() {}

      @Override
      public void close() {}
    };
    Logger logger = Logger.getLogger("io.sidbeam");
    logger.addHandler(handler);
    logger.setUseParentHandlers(false);
    try {
      run.run();
    } finally {
      logger.removeHandler(handler);
    }
    return messages;
  }
}
