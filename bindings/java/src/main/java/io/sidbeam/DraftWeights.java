// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/**
 * The weights of a draft head, for {@link DraftHead#write}; every setter returns this object. What decides shapes,
 * input and transition, comes before arrays.
 */
public final class DraftWeights {
  final int[] codes;
  final int hidden;
  final DType dtype;
  final long[] offsets;
  private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
  int embedding;
  DraftInput input = DraftInput.BOTH;
  DraftTransition transition = DraftTransition.RNN;
  String codebook = "";
  boolean allowAttributeLoss;

  /**
   * No arrays yet.
   *
   * @param dtype of all arrays, and of the file
   * @param hidden D, elements of a hidden state
   * @param codes of each level
   */
  public DraftWeights(DType dtype, int hidden, int... codes) {
    this.dtype = Buffers.given(dtype, "dtype");
    this.hidden = hidden;
    this.codes = Buffers.given(codes, "codes").clone();
    offsets = new long[DraftArray.values().length * codes.length];
    Arrays.fill(offsets, -1);
  }

  /**
   * What heads multiply.
   *
   * @param input default {@link DraftInput#BOTH}
   * @return this
   */
  public DraftWeights input(DraftInput input) {
    this.input = Buffers.given(input, "input");
    return this;
  }

  /**
   * How a code changes the state.
   *
   * @param transition default {@link DraftTransition#RNN}
   * @param embedding E, elements of a code's embedding; 0: D
   * @return this
   */
  public DraftWeights transition(DraftTransition transition, int embedding) {
    this.transition = Buffers.given(transition, "transition");
    this.embedding = embedding;
    return this;
  }

  /**
   * The codebook of the indexes that the head is for.
   *
   * @param codebook "" (the default): any
   * @return this
   */
  public DraftWeights codebook(String codebook) {
    this.codebook = Buffers.given(codebook, "codebook");
    return this;
  }

  /**
   * Whether a file is replaced even if its owner, mode, access list (ACL) or an extended attribute cannot be kept.
   *
   * @param allow default false
   * @return this
   */
  public DraftWeights allowAttributeLoss(boolean allow) {
    allowAttributeLoss = allow;
    return this;
  }

  /**
   * An array of {@link DType#F32}.
   *
   * @param which array
   * @param level 0 .. L - 1
   * @param values copied
   * @return this
   */
  public DraftWeights put(DraftArray which, int level, float[] values) {
    ByteBuffer copy = begin(which, level, values.length, Float.BYTES);
    copy.asFloatBuffer().put(values);
    return end(copy);
  }

  /**
   * An array of {@link DType#F16} or BF16.
   *
   * @param which array
   * @param level 0 .. L - 1
   * @param bits of the elements, copied
   * @return this
   */
  public DraftWeights put(DraftArray which, int level, short[] bits) {
    ByteBuffer copy = begin(which, level, bits.length, Short.BYTES);
    copy.asShortBuffer().put(bits);
    return end(copy);
  }

  private ByteBuffer begin(DraftArray which, int level, int elements, int width) {
    if (width != dtype.bytes) {
      throw SidbeamException.invalid(which + " has elements of " + width + " bytes, expected " + dtype.bytes
          + ", as the weights are " + dtype);
    }
    if (level < 0 || level >= codes.length) {
      throw SidbeamException.invalid("level is " + level + ", expected 0.." + (codes.length - 1));
    }
    long expected = elements(which, level);
    if (elements != expected) {
      throw SidbeamException.invalid(which + " of level " + level + " has " + elements + " elements, expected "
          + expected);
    }
    offsets[which.ordinal() * codes.length + level] = bytes.size();
    return ByteBuffer.allocate(Math.multiplyExact(elements, width)).order(ByteOrder.nativeOrder());
  }

  private DraftWeights end(ByteBuffer copy) {
    bytes.write(copy.array(), 0, copy.capacity());
    return this;
  }

  private long elements(DraftArray which, int level) {
    long inputs = input == DraftInput.BOTH ? 2L * hidden : hidden;
    long gates = transition == DraftTransition.GRU ? 3L * hidden : hidden;
    long embedded = embedding == 0 ? hidden : embedding;
    return switch (which) {
      case HEAD_WEIGHT -> codes[level] * inputs;
      case HEAD_BIAS -> codes[level];
      case EMBEDDING -> codes[level] * embedded;
      case INPUT_WEIGHT -> gates * embedded;
      case INPUT_BIAS, RECURRENT_BIAS -> gates;
      case RECURRENT_WEIGHT -> gates * hidden;
    };
  }

  /** All arrays, one after the other, as offsets says. */
  byte[] bytes() {
    return bytes.toByteArray();
  }
}
