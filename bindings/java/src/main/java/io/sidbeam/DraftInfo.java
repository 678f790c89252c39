// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Arrays;

/**
 * What a {@link DraftHead} is.
 *
 * @param hidden D, elements of a hidden state
 * @param embedding E; 0 with {@link DraftTransition#NONE}
 * @param input what heads multiply
 * @param transition how a code changes the state
 * @param dtype of the weights in the file
 * @param codes of each level
 * @param parameters elements of all weights
 * @param fileBytes of the file
 * @param memoryBytes that the head holds
 * @param codebook that of the indexes which the head is for; "": any
 */
public record DraftInfo(int hidden, int embedding, DraftInput input, DraftTransition transition, DType dtype,
    int[] codes, long parameters, long fileBytes, long memoryBytes, String codebook) {
  static DraftInfo of(long[] n, int[] codes, byte[] codebook) {
    return new DraftInfo((int) n[Native.FLAT_DRAFT_HIDDEN], (int) n[Native.FLAT_DRAFT_EMBEDDING],
        DraftInput.of(n[Native.FLAT_DRAFT_INPUT]), DraftTransition.of(n[Native.FLAT_DRAFT_TRANSITION]),
        DType.values()[(int) n[Native.FLAT_DRAFT_DTYPE]],
        Arrays.copyOf(codes, (int) n[Native.FLAT_DRAFT_LEVELS]), n[Native.FLAT_DRAFT_PARAMETERS],
        n[Native.FLAT_DRAFT_FILE_BYTES], n[Native.FLAT_DRAFT_MEMORY_BYTES], Text.out(codebook));
  }

  /**
   * Codes of a SID.
   *
   * @return L
   */
  public int levels() {
    return codes.length;
  }

  /** By content, arrays too. */
  @Override
  public boolean equals(Object other) {
    return Records.equal(this, other);
  }

  @Override
  public int hashCode() {
    return Records.hash(this);
  }

  @Override
  public String toString() {
    return Records.text(this);
  }
}
