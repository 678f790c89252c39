// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Duration;

/** A request of a {@link Runner}; every setter returns this object. */
public final class Request {
  final int[] tokens;
  int group;
  int beams;
  int[] widths;
  int priority;
  long deadlineUs;
  long seed;
  long samplingRequest;
  Constrainer constraint;
  Object context;

  /**
   * All beams, no deadline.
   *
   * @param tokens [positions, group] token ids; not copied until the request is run or submitted. None, of a new user,
   *     with {@link RunnerConfig#beginTokens} and a decoder alone
   */
  public Request(int... tokens) {
    this.tokens = Buffers.given(tokens, "tokens");
  }

  /**
   * Tokens per position, whose embeddings are summed; -1 is no token.
   *
   * @param group default 1
   * @return this
   */
  public Request group(int group) {
    this.group = group;
    return this;
  }

  /**
   * Beams.
   *
   * @param beams 1 .. M; 0 (the default): M
   * @return this
   */
  public Request beams(int beams) {
    this.beams = beams;
    return this;
  }

  /**
   * Beams of each level: level l keeps at most the l-th, or the last. Not with a runner of {@link Speculate#RELAXED};
   * in mode STOCHASTIC they must not rise.
   *
   * @param widths of up to L levels, each 1 .. beams, or 0 for beams; null or none (the default): beams at every level
   * @return this
   */
  public Request widths(int... widths) {
    this.widths = widths == null ? null : widths.clone();
    return this;
  }

  /**
   * Who goes first.
   *
   * @param priority higher starts earlier; default 0
   * @return this
   */
  public Request priority(int priority) {
    this.priority = priority;
    return this;
  }

  /**
   * Time from the call on within which the request must start, or it fails with {@link Status#DEADLINE_EXCEEDED}.
   *
   * @param deadline to a microsecond; null (the default): none
   * @return this
   */
  public Request deadline(Duration deadline) {
    long us = deadline == null ? 0 : Math.floorDiv(deadline.toNanos(), 1000L);
    deadlineUs = deadline != null && us == 0 ? -1 : us;
    return this;
  }

  /**
   * What the request runs under.
   *
   * @param constraint null (the default): the runner's; another must have the same codes per level and, where
   *     both name one, codebook
   * @return this
   */
  public Request constraint(Constrainer constraint) {
    this.constraint = constraint;
    return this;
  }

  /**
   * Keys of the random numbers of a runner that draws ({@link Speculate#RELAXED}, {@link Mode#STOCHASTIC}): requests
   * with equal pairs draw alike.
   *
   * @param seed default 0, as it must be of other runners
   * @param samplingRequest likewise
   * @return this
   */
  public Request seed(long seed, long samplingRequest) {
    this.seed = seed;
    this.samplingRequest = samplingRequest;
    return this;
  }

  /**
   * Anything, for {@link RunnerConfig#adjust}: {@link Level#context}.
   *
   * @param context default null
   * @return this
   */
  public Request context(Object context) {
    this.context = context;
    return this;
  }
}
