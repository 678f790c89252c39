// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Duration;
import java.util.Arrays;

/**
 * What a request found: n SIDs, best first, at most its number of beams.
 *
 * @param levels L
 * @param sids [n, L] codes; -1 past the end of a shorter SID
 * @param scores [n] log-probability
 * @param ordinals [n]; -1 where strategy NONE found no SID
 * @param request its number
 * @param queued time that it waited
 * @param ran time that it ran
 * @param batch requests that ran with it, itself included
 * @param rounds passes of the model; this and the next three: 0 without a draft, where it passes L times
 * @param draftedLevels that the draft wrote ahead
 * @param acceptedLevels of these, the ones that were right: passes saved
 * @param drafting of ran, what drafting took: of the whole batch, which each request waits for
 * @param constraint that it ran under
 */
public record Result(int levels, int[] sids, float[] scores, long[] ordinals, long request, Duration queued,
    Duration ran, int batch, int rounds, int draftedLevels, int acceptedLevels, Duration drafting,
    Constrainer constraint) {
  /** Takes the result out of native memory, or throws the request's failure. */
  static Result take(long[] n, Constrainer constraint) {
    int live = (int) n[Native.FLAT_RESULT_LIVE];
    int levels = (int) n[Native.FLAT_RESULT_LEVELS];
    Result result = new Result(levels, new int[live * levels], new float[live], new long[live],
        n[Native.FLAT_RESULT_REQUEST], ofMicros(n[Native.FLAT_RESULT_QUEUED_US]),
        ofMicros(n[Native.FLAT_RESULT_RUN_US]), (int) n[Native.FLAT_RESULT_BATCH],
        (int) n[Native.FLAT_RESULT_ROUNDS], (int) n[Native.FLAT_RESULT_DRAFTED_LEVELS],
        (int) n[Native.FLAT_RESULT_ACCEPTED_LEVELS], ofMicros(n[Native.FLAT_RESULT_DRAFT_US]), constraint);
    Native.flat_result_take(n[Native.FLAT_RESULT_NUMBER], result.sids, result.scores, result.ordinals);
    return result;
  }

  static Duration ofMicros(long micros) {
    return Duration.ofNanos(1000 * micros);
  }

  /**
   * How many SIDs.
   *
   * @return n
   */
  public int size() {
    return scores.length;
  }

  /**
   * A SID.
   *
   * @param i 0 .. n - 1
   * @return a new array of its codes
   */
  public int[] sid(int i) {
    int[] sid = Arrays.copyOfRange(sids, i * levels, (i + 1) * levels);
    int length = 0;
    while (length < levels && sid[length] >= 0) {
      length++;
    }
    return Arrays.copyOf(sid, length);
  }

  /**
   * The item rows of the SIDs, by SID, then priority, that the request's rules allow; {@link Index#itemIds} and {@link
   * Index#itemNames} take them. Fails with {@link Status#BAD_STATE} if the index or constraint under which it ran has
   * been closed.
   *
   * @return a new array
   */
  public long[] itemRows() {
    return itemRowsOf(0, 0, false);
  }

  /**
   * The item rows of the SIDs, as far as limits go. Fails as {@link #itemRows()} does.
   *
   * @param limitPerSid most item rows of one SID; 0: no limit
   * @param limit most item rows of all; 0: no limit
   * @param distinct whether an item that several SIDs have is listed once, with the best of them
   * @return a new array
   */
  public long[] itemRowsOf(long limitPerSid, long limit, boolean distinct) {
    return itemRowsOf(new ItemLimits().perSid(limitPerSid).limit(limit).distinct(distinct)).rows();
  }

  /**
   * The item rows of the SIDs, as far as limits and a cap go: {@code itemRowsOf(new ItemLimits().cap(2, "brand"))}.
   * Fails as {@link #itemRows()} does.
   *
   * @param limits read
   * @return the rows, where those of each SID are, and whether any were left out
   */
  public ItemRows itemRowsOf(ItemLimits limits) {
    return constraint instanceof Index index
        ? index.itemRowsOf(ordinals, limits)
        : ((Constraint) constraint).itemRowsOf(ordinals, limits);
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
