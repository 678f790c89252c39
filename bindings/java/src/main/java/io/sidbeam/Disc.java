// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.util.Arrays;

/**
 * Samples SIDs of one request exactly by the model's law restricted to items (DISC-PPV, Algorithm 1). It says which
 * draws to run, and what becomes of them.
 *
 * <pre>
 * next -&gt; run these draws in a slot of a session of {@link Mode#SAMPLE}, with the same seed and request -&gt; add
 * -&gt; next ... until there is none -&gt; results
 * </pre>
 *
 * <p>The session's normalization is FULL or LEVEL, or NONE if rows are log-probabilities. With VALID every log-mass is
 * 0, so that every draw would be accepted, and nothing corrected.
 *
 * <p>The draws may be run on any device, as few or as many at a time as one likes: results do not depend on that. One
 * thread at a time, any thread: a second one gets {@link Status#BAD_STATE}, but {@link #close} is allowed at any time.
 */
public final class Disc extends NativeObject {
  private final int results;

  /**
   * Makes one. Fails with {@link Status#INVALID_ARGUMENT}.
   *
   * @param config read, not kept
   */
  public Disc(DiscConfig config) {
    super(create(Buffers.given(config, "config")));
    results = Math.max(config.results, 1);
  }

  private static long create(DiscConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    try {
      return Native.flat_disc_create(runtime.handle, config.results, config.rounds, config.withoutReplacement ? 1 : 0,
          config.attempts, config.sideBySide, config.seed, config.request);
    } finally {
      Reference.reachabilityFence(runtime);
    }
  }

  /**
   * The next draws to run.
   *
   * @param most at least 0
   * @return their numbers; empty: all draws that are wanted have been handed out
   */
  public long[] next(int most) {
    try {
      long[] draws = new long[Math.max(most, 0)];
      return Arrays.copyOf(draws, (int) Native.flat_disc_next(handle, draws));
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Takes draws that {@link #next} handed out. Fails with {@link Status#INVALID_ARGUMENT} for a draw that was not, or
   * was added before; then nothing is added.
   *
   * @param draws [count] their numbers, in any order
   * @param ordinals [count] of {@link Items}; -1: the draw is dead
   * @param logProbs [count] {@link Beams#scores}
   * @param logMasses [count] {@link Beams#logMasses}
   */
  public void add(long[] draws, long[] ordinals, float[] logProbs, float[] logMasses) {
    try {
      Native.flat_disc_add(handle, Buffers.given(draws, "draws").length, draws, ordinals, logProbs, logMasses);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The samples. Fails with {@link Status#BAD_STATE} while one is not decided.
   *
   * @return new arrays
   */
  public DiscResults results() {
    try {
      DiscResults out = new DiscResults(new long[results], new long[results], new int[results], new long[results],
          new long[results], new float[results], new float[results]);
      Native.flat_disc_get(handle, out.ordinals(), out.draws(), out.accepted(), out.drawsUsed(), out.rowsRun(),
          out.logProbs(), out.logMasses());
      return out;
    } finally {
      Reference.reachabilityFence(this);
    }
  }
}
