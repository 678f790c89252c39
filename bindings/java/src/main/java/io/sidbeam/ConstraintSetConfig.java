// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a {@link ConstraintSet} is made of; every setter returns this object. */
public final class ConstraintSetConfig {
  final Constrainer[] constraints;
  Runtime runtime;
  Vocabulary vocabulary = new Vocabulary();
  int deviceType = Native.SIDBEAM_DEVICE_CPU;
  int deviceId;

  /**
   * A set on the CPU.
   *
   * @param constraints held by the set; each needs {@link Kind#TRIE}. An entry of a call names one by its place here
   */
  public ConstraintSetConfig(Constrainer... constraints) {
    this.constraints = constraints.clone();
  }

  /**
   * The runtime.
   *
   * @param runtime null: the default
   * @return this
   */
  public ConstraintSetConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * Which column of a logits row a code has.
   *
   * @param vocabulary read when the set is made; the default: code t is column t
   * @return this
   */
  public ConstraintSetConfig vocabulary(Vocabulary vocabulary) {
    this.vocabulary = Buffers.given(vocabulary, "vocabulary");
    return this;
  }

  /**
   * Puts the set on a CUDA device; indexes that are not there are uploaded.
   *
   * @param deviceId number of the device
   * @return this
   */
  public ConstraintSetConfig cuda(int deviceId) {
    deviceType = Native.SIDBEAM_DEVICE_CUDA;
    this.deviceId = deviceId;
    return this;
  }
}
