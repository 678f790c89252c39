// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a {@link Disc} is made with; every setter returns this object. */
public final class DiscConfig {
  final int rounds;
  final long seed;
  final long request;
  Runtime runtime;
  int results = 1;
  boolean withoutReplacement;
  int attempts;
  int sideBySide = 1;

  /**
   * One result.
   *
   * @param rounds K, 1 .. 2^10: draws that are accepted or rejected before K fresh ones are resampled
   * @param seed that of the draws
   * @param request that of the draws
   */
  public DiscConfig(int rounds, long seed, long request) {
    this.rounds = rounds;
    this.seed = seed;
    this.request = request;
  }

  /**
   * The runtime whose memory it takes.
   *
   * @param runtime null: the default
   * @return this
   */
  public DiscConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * Independent results of the request.
   *
   * @param results 1 .. 2^20
   * @return this
   */
  public DiscConfig results(int results) {
    this.results = results;
    return this;
  }

  /**
   * Results are different SIDs: one that repeats an earlier result is drawn again.
   *
   * @param attempts most times that a result is drawn; then it is dead. 0: 1000
   * @return this
   */
  public DiscConfig withoutReplacement(int attempts) {
    withoutReplacement = true;
    this.attempts = attempts;
    return this;
  }

  /**
   * Draws of a result that are handed out at a time.
   *
   * @param sideBySide 1 (the default) runs them one after the other, 2 K all side by side
   * @return this
   */
  public DiscConfig sideBySide(int sideBySide) {
    this.sideBySide = sideBySide;
    return this;
  }
}
