// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.FloatBuffer;
import java.nio.IntBuffer;

/**
 * Arguments of {@link Session#start(Start)}; every setter returns this object. May be reused, by one thread at a time.
 */
public final class Start {
  IntBuffer slots;
  Constrainer[] constraints;
  IntBuffer widths;
  int widthLevels;
  IntBuffer prefixes;
  IntBuffer prefixLengths;
  long prefixStride;
  FloatBuffer inverseTemperatures;
  FloatBuffer softCaps;
  long stream;
  Sampling sampling = new Sampling();

  /** All slots, all their beams, no prefix. */
  public Start() {}

  /**
   * Which slots.
   *
   * @param slots [count], different, in the host's memory; null: all
   * @return this
   */
  public Start slots(IntBuffer slots) {
    this.slots = Buffers.in(slots, "slots");
    return this;
  }

  /**
   * The constraint of each slot.
   *
   * @param constraints [count], an entry null: the session's; null: the session's for all
   * @return this
   */
  public Start constraints(Constrainer... constraints) {
    this.constraints = constraints == null ? null : constraints.clone();
    return this;
  }

  /**
   * Beams of each slot.
   *
   * @param widths [count] 1 .. the session's beams, or 0 for all; null: all
   * @return this
   */
  public Start widths(IntBuffer widths) {
    return widths(widths, 0);
  }

  /**
   * Beams of each slot and level: level l keeps at most the l-th of a slot's, or the last. Not in mode SAMPLE; in mode
   * STOCHASTIC they must not rise.
   *
   * @param widths [count, levels] 1 .. the session's beams, or 0 for all; null: all
   * @param levels 1 .. the session's; 0: widths are [count], one per slot
   * @return this
   */
  public Start widths(IntBuffer widths, int levels) {
    this.widths = Buffers.in(widths, "widths");
    widthLevels = levels;
    return this;
  }

  /**
   * Codes that are already decided.
   *
   * @param prefixes [count, stride]; null: none
   * @param lengths [count] codes of each prefix
   * @param stride elements from prefix to prefix; 0: the session's levels; {@link Rows#BROADCAST}: one prefix for all
   * @return this
   */
  public Start prefixes(IntBuffer prefixes, IntBuffer lengths, long stride) {
    this.prefixes = Buffers.in(prefixes, "prefixes");
    prefixLengths = Buffers.in(lengths, "lengths");
    prefixStride = stride;
    return this;
  }

  /**
   * Inverse temperature of each slot's steps, unless a step brings its own.
   *
   * @param inverseTemperatures [count], 0 for 1; null: 1
   * @return this
   */
  public Start inverseTemperatures(FloatBuffer inverseTemperatures) {
    this.inverseTemperatures = Buffers.in(inverseTemperatures, "inverseTemperatures");
    return this;
  }

  /**
   * Soft-cap of each slot's steps, unless a step brings its own.
   *
   * @param softCaps [count], 0 for none; null: none
   * @return this
   */
  public Start softCaps(FloatBuffer softCaps) {
    this.softCaps = Buffers.in(softCaps, "softCaps");
    return this;
  }

  /**
   * How the slots are sampled, in a mode that samples.
   *
   * @param sampling used as it is at the start; its lists are in the host's memory
   * @return this
   */
  public Start sampling(Sampling sampling) {
    this.sampling = Buffers.given(sampling, "sampling");
    return this;
  }

  /**
   * Stream of the work, on CUDA.
   *
   * @param stream a cudaStream_t as a number
   * @return this
   */
  public Start stream(long stream) {
    this.stream = stream;
    return this;
  }
}
