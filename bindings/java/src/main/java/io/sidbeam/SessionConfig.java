// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a {@link Session} is made with; every setter returns this object. */
public final class SessionConfig {
  final Constrainer constraint;
  Runtime runtime;
  int slots = 1;
  int beams = 1;
  Strategy strategy = Strategy.TRIE;
  Normalization normalization = Normalization.FULL;
  int topK;
  Vocabulary vocabulary = new Vocabulary();
  int deviceType = Native.SIDBEAM_DEVICE_CPU;
  int deviceId;
  boolean logProbsPromised;
  Mode mode = Mode.SEARCH;
  long maxListed;

  /**
   * One slot, one beam, strategy trie, log-softmax over full rows, on the CPU.
   *
   * @param constraint for slots that name none; the session holds it, and has its levels
   */
  public SessionConfig(Constrainer constraint) {
    this.constraint = Buffers.given(constraint, "constraint");
  }

  /**
   * The runtime that steps.
   *
   * @param runtime null: the default
   * @return this
   */
  public SessionConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * Requests at a time.
   *
   * @param slots 1 .. 2^20
   * @return this
   */
  public SessionConfig slots(int slots) {
    this.slots = slots;
    return this;
  }

  /**
   * Beams of a request.
   *
   * @param beams 1 .. 4096; may be more than there are codes, candidates or SIDs
   * @return this
   */
  public SessionConfig beams(int beams) {
    this.beams = beams;
    return this;
  }

  /**
   * How valid codes are found.
   *
   * @param strategy default {@link Strategy#TRIE}
   * @return this
   */
  public SessionConfig strategy(Strategy strategy) {
    this.strategy = Buffers.given(strategy, "strategy");
    return this;
  }

  /**
   * How logits rows become log-probabilities.
   *
   * @param normalization default {@link Normalization#FULL}; VALID is refused for HASH_FINAL and NONE
   * @return this
   */
  public SessionConfig normalization(Normalization normalization) {
    this.normalization = Buffers.given(normalization, "normalization");
    return this;
  }

  /**
   * Codes per beam that SORTED_TOPK and HASH_FINAL look up.
   *
   * @param topK 0 (the default): as many as there are beams
   * @return this
   */
  public SessionConfig topK(int topK) {
    this.topK = topK;
    return this;
  }

  /**
   * Which column of a logits row a code has.
   *
   * @param vocabulary read when the session is made; the default: code t is column t
   * @return this
   */
  public SessionConfig vocabulary(Vocabulary vocabulary) {
    this.vocabulary = Buffers.given(vocabulary, "vocabulary");
    return this;
  }

  /**
   * Puts the session on a CUDA device; sections that it needs are uploaded if they are not there yet.
   *
   * @param deviceId number of the device
   * @return this
   */
  public SessionConfig cuda(int deviceId) {
    deviceType = Native.SIDBEAM_DEVICE_CUDA;
    this.deviceId = deviceId;
    return this;
  }

  /**
   * What the beams are; a mode that samples wants a {@link Sampling} at each start.
   *
   * @param mode default {@link Mode#SEARCH}; not every strategy may sample
   * @return this
   */
  public SessionConfig mode(Mode mode) {
    this.mode = Buffers.given(mode, "mode");
    return this;
  }

  /**
   * Promises that rows of {@link Normalization#NONE}, or element - lse, never exceed 0; logits rows that cannot matter
   * are then skipped. A broken promise costs exactness, nothing else.
   *
   * @param promised default false
   * @return this
   */
  public SessionConfig logProbsPromised(boolean promised) {
    logProbsPromised = promised;
    return this;
  }

  /**
   * On CUDA the most item rows that the rules of a slot may list, excluded or allowed.
   *
   * @param rows 0 (the default): 4096
   * @return this
   */
  public SessionConfig maxListed(long rows) {
    maxListed = rows;
    return this;
  }
}
