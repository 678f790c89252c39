// How long a step takes from Java, to compare with tests/bindings/bench_calls.c; the setting is in
// tests/bindings/README.md. Prints `overhead java CASE MEDIAN_NS P99_NS`, and how many bytes 1000 steps allocated.
//   bash bindings/java/build.sh && java -cp build/java/sidbeam.jar bindings/java/bench/BenchCalls.java
// SPDX-License-Identifier: Apache-2.0
import com.sun.management.ThreadMXBean;
import io.sidbeam.*;
import java.lang.management.ManagementFactory;
import java.nio.FloatBuffer;
import java.util.Arrays;

public class BenchCalls {
  private static final int SIDS = 100_000;
  private static final int LEVELS = 4;
  private static final int CODES = 2048;
  private static final int SLOTS = 2;
  private static final int BEAMS = 70;
  private static final int WARM_UP = 20_000;

  private record Case(String name, int slots, int beams, int level, boolean givenLse, int runs) {}

  private static final Case[] CASES = {new Case("one", 1, 1, 2, true, 20_000),
      new Case("list", SLOTS, BEAMS, 2, true, 20_000), new Case("full", SLOTS, BEAMS, 1, false, 5_000)};

  public static void main(String[] args) {
    try (io.sidbeam.Runtime runtime = new io.sidbeam.Runtime(new RuntimeConfig().threads(1).stepThreads(1));
        Index index = index(runtime)) {
      FloatBuffer logits = Buffers.floats(SLOTS * BEAMS * CODES);
      for (int i = 0; i < logits.capacity(); i++) {
        logits.put(i, (float) (mix64((1L << 32) + i) >>> 40) / (1 << 21) - 4);
      }
      for (Case c : CASES) {
        time(runtime, index, c, logits);
      }
    }
  }

  private static long mix64(long x) {
    long z = x + 0x9e3779b97f4a7c15L;
    z = (z ^ z >>> 30) * 0xbf58476d1ce4e5b9L;
    z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
    return z ^ z >>> 31;
  }

  private static Index index(io.sidbeam.Runtime runtime) {
    int[] codes = new int[SIDS * LEVELS];
    for (int i = 0; i < codes.length; i++) {
      codes[i] = (int) Long.remainderUnsigned(mix64(i), CODES);
    }
    try (Builder builder = new Builder(new BuilderConfig(CODES, CODES, CODES, CODES).runtime(runtime))) {
      builder.add(codes);
      return builder.finish();
    }
  }

  private static void time(io.sidbeam.Runtime runtime, Index index, Case c, FloatBuffer logits) {
    FloatBuffer lse = Buffers.floats(SLOTS * BEAMS);
    for (int i = 0; i < lse.capacity(); i++) {
      lse.put(i, 9);
    }
    Step step = new Step(Rows.dense(logits, c.slots, c.beams, CODES)).lse(c.givenLse ? lse : null);
    Start start = new Start();
    SessionConfig config = new SessionConfig(index).runtime(runtime).slots(c.slots).beams(c.beams);
    long[] times = new long[c.runs];
    try (Session session = new Session(config)) {
      for (int i = 0; i < WARM_UP; i++) {
        run(session, c, start, step);
      }
      for (int i = 0; i < c.runs; i++) {
        times[i] = run(session, c, start, step);
      }
      Arrays.sort(times);
      System.out.printf("overhead java %s %d %d%n", c.name, times[c.runs / 2], times[c.runs - c.runs / 100]);
      System.out.printf("allocated java %s %d bytes in 1000 steps%n", c.name, allocated(session, step));
    }
  }

  /** One start and the steps up to the timed one; returns how long that took. */
  private static long run(Session session, Case c, Start start, Step step) {
    session.start(start);
    for (int level = 0; level < c.level; level++) {
      session.step(step);
    }
    long begin = System.nanoTime();
    session.step(step);
    return System.nanoTime() - begin;
  }

  private static long allocated(Session session, Step step) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long before = threads.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 1000; i++) {
      session.step(step);
    }
    return threads.getCurrentThreadAllocatedBytes() - before;
  }
}
