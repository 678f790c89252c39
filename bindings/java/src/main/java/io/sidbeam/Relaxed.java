// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.FloatBuffer;

/**
 * Relaxed speculation (AtSpeed, Algorithm 2): beams drawn at random from the target's distribution over all valid
 * extensions of the current beams by one code. It is a calculation over lists: extension i has the log-probability of
 * the whole sequence, -inf where it is none, in an order that is the caller's. Every setter returns this object; calls
 * may run at the same time. The same seed, request and level draw alike on every machine.
 *
 * <p>With replacement, K drafts, each beam is a draw from the target exactly, independent of the others. Without it,
 * they are different, and follow the target approximately, as in the paper's released code.
 */
public final class Relaxed {
  private final long seed;
  private final long request;
  private Runtime runtime;
  private int level;
  private float inverseTemperature;
  private boolean withoutReplacement;

  /**
   * With replacement, at level 0 and temperature 1.
   *
   * @param seed of the random numbers
   * @param request likewise
   */
  public Relaxed(long seed, long request) {
    this.seed = seed;
    this.request = request;
  }

  /**
   * The runtime whose memory calls take for a moment.
   *
   * @param runtime null: the default
   * @return this
   */
  public Relaxed runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * The level of the extensions, for the random numbers.
   *
   * @param level 0 .. 63
   * @return this
   */
  public Relaxed level(int level) {
    this.level = level;
    return this;
  }

  /**
   * What log-probabilities are multiplied by, before they are normalized over the list.
   *
   * @param inverseTemperature finite and above 0; 0: 1
   * @return this
   */
  public Relaxed inverseTemperature(float inverseTemperature) {
    this.inverseTemperature = inverseTemperature;
    return this;
  }

  /**
   * Whether draws are different.
   *
   * @param withoutReplacement default false
   * @return this
   */
  public Relaxed withoutReplacement(boolean withoutReplacement) {
    this.withoutReplacement = withoutReplacement;
    return this;
  }

  /**
   * Draws extensions. Fails with {@link Status#INVALID_ARGUMENT} (a log-probability that is NaN or +inf).
   *
   * @param logProbs [n] the draft's for drafts, the target's for beams; finite, or -inf
   * @param draws 1 .. 4096
   * @return [draws] extensions; -1: none was left
   */
  public long[] draw(FloatBuffer logProbs, int draws) {
    Runtime used = Runtime.orDefault(runtime);
    FloatBuffer list = Buffers.in(logProbs, "logProbs");
    long[] drafts = new long[Math.max(draws, 0)];
    try {
      Native.flat_relaxed_draw(used.handle, list, inverseTemperature, withoutReplacement ? 1 : 0, seed, request, level,
          drafts);
    } finally {
      Reference.reachabilityFence(used);
    }
    return drafts;
  }

  /**
   * Accepts drafts, or draws others in their place, so that beams follow the target. Fails with
   * {@link Status#INVALID_ARGUMENT} (a log-probability that is NaN or +inf, a draft out of range, drawn twice without
   * replacement, or without probability).
   *
   * @param target [n] log-probabilities
   * @param draft [n] those that the drafts were drawn by
   * @param drafts extensions: K with replacement, else those of the drawn whose beams were kept
   * @param beams K, 1 .. 4096
   * @return a new object
   */
  public RelaxedBeams verify(FloatBuffer target, FloatBuffer draft, long[] drafts, int beams) {
    Runtime used = Runtime.orDefault(runtime);
    FloatBuffer p = Buffers.in(target, "target");
    FloatBuffer q = Buffers.in(draft, "draft");
    long[] extensions = new long[Math.max(beams, 0)];
    int[] found = new int[Native.FLAT_RELAXED_COUNT];
    try {
      Native.flat_relaxed_verify(used.handle, p, q, drafts, inverseTemperature, withoutReplacement ? 1 : 0, seed,
          request, level, extensions, found);
    } finally {
      Reference.reachabilityFence(used);
    }
    return new RelaxedBeams(extensions, found[Native.FLAT_RELAXED_LIVE], found[Native.FLAT_RELAXED_ACCEPTED],
        found[Native.FLAT_RELAXED_GOES_ON] != 0);
  }
}
