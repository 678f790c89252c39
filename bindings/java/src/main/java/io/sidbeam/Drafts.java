// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Arrays;
import java.util.Set;

/**
 * What a {@link DraftDecoder} found: n requests of M beams, best first; beams that found no SID come last.
 *
 * @param beams M
 * @param levels L
 * @param live [n] SIDs found
 * @param errors [n] flags: {@link #errors(int)}
 * @param sids [n, M, L] codes; -1 where there is no SID
 * @param scores [n, M] log-probabilities, falling; -inf where there is no SID
 * @param ordinals [n, M] in the request's index; -1: no SID, or none that exists
 */
public record Drafts(int beams, int levels, int[] live, int[] errors, int[] sids, float[] scores, long[] ordinals) {
  /**
   * A SID.
   *
   * @param request 0 .. n - 1
   * @param beam 0 .. M - 1
   * @return a copy of its codes
   */
  public int[] sid(int request, int beam) {
    int at = (request * beams + beam) * levels;
    return Arrays.copyOfRange(sids, at, at + levels);
  }

  /**
   * What is wrong with a request: NaN or +inf in logits that mattered; live is 0 then.
   *
   * @param request 0 .. n - 1
   * @return empty where nothing is
   */
  public Set<SlotError> errors(int request) {
    return SlotError.of(errors[request]);
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
