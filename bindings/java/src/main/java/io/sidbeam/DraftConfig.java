// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a {@link DraftDecoder} is made with; every setter returns this object. */
public final class DraftConfig {
  final DraftHead head;
  final Index index;
  Runtime runtime;
  int requests = 1;
  int beams = 1;
  DraftVerification verification = DraftVerification.TRIE;
  Normalization normalization = Normalization.FULL;
  int topK;
  long maxListed;
  int deviceType = Native.SIDBEAM_DEVICE_CPU;
  int deviceId;

  /**
   * One request, one beam, verified by the trie, on the CPU.
   *
   * @param head held
   * @param index of the head's numbers of codes and, where both name one, of its codebook; held
   */
  public DraftConfig(DraftHead head, Index index) {
    this.head = Buffers.given(head, "head");
    this.index = Buffers.given(index, "index");
  }

  /**
   * The runtime.
   *
   * @param runtime null: the default
   * @return this
   */
  public DraftConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * The most requests of a run.
   *
   * @param requests 1 .. 2^20
   * @return this
   */
  public DraftConfig requests(int requests) {
    this.requests = requests;
    return this;
  }

  /**
   * Beams of a request.
   *
   * @param beams M, 1 .. 4096
   * @return this
   */
  public DraftConfig beams(int beams) {
    this.beams = beams;
    return this;
  }

  /**
   * How SIDs are verified.
   *
   * @param verification default {@link DraftVerification#TRIE}
   * @return this
   */
  public DraftConfig verification(DraftVerification verification) {
    this.verification = Buffers.given(verification, "verification");
    return this;
  }

  /**
   * How logits become log-probabilities.
   *
   * @param normalization {@link Normalization#FULL} (the default), LEVEL, which is the same here, or, with TRIE, VALID
   * @return this
   */
  public DraftConfig normalization(Normalization normalization) {
    this.normalization = Buffers.given(normalization, "normalization");
    return this;
  }

  /**
   * Codes per beam that {@link DraftVerification#HASH} looks up.
   *
   * @param topK 0 (the default): M
   * @return this
   */
  public DraftConfig topK(int topK) {
    this.topK = topK;
    return this;
  }

  /**
   * On CUDA the most item rows that a request's rules may list, excluded or allowed.
   *
   * @param maxListed 0 (the default): 4096
   * @return this
   */
  public DraftConfig maxListed(long maxListed) {
    this.maxListed = maxListed;
    return this;
  }

  /**
   * Puts the decoder on a CUDA device: see {@link DraftDecoder#runOn}. The weights are uploaded for the head's first
   * decoder there, the index if it is not there yet; those of runs' constraints must be.
   *
   * @param deviceId number of the device
   * @return this
   */
  public DraftConfig cuda(int deviceId) {
    deviceType = Native.SIDBEAM_DEVICE_CUDA;
    this.deviceId = deviceId;
    return this;
  }
}
