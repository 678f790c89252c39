// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Counted since a session was made. What can be skipped depends on the number of threads and their pace: rows read,
 * skipped and bad, candidates, shrinks and splits are outside the promise of same bits.
 *
 * @param steps calls of step
 * @param slotSteps slots stepped
 * @param rowsRead rows of logits that were read
 * @param rowsSkipped rows that could not matter
 * @param rowsBad rows with NaN or +inf
 * @param candidates codes considered
 * @param deadBeams beams that a step could not fill
 * @param shrinks times that the selection's workspace was cut back
 * @param listRows rows whose children were a list
 * @param denseRows rows whose children were a mask
 * @param unconstrainedRows rows of which any code would do
 * @param probedRows rows whose codes were looked up
 * @param memoryBytes memory that the session holds
 * @param singleRows rows of beams with one child, scored by themselves; not among listRows
 * @param splitSlots slots whose rows were divided among threads
 */
public record Stats(long steps, long slotSteps, long rowsRead, long rowsSkipped, long rowsBad, long candidates,
    long deadBeams, long shrinks, long listRows, long denseRows, long unconstrainedRows, long probedRows,
    long memoryBytes, long singleRows, long splitSlots) {
  static Stats of(long[] n) {
    return new Stats(n[Native.FLAT_STATS_STEPS], n[Native.FLAT_STATS_SLOT_STEPS], n[Native.FLAT_STATS_ROWS_READ],
        n[Native.FLAT_STATS_ROWS_SKIPPED], n[Native.FLAT_STATS_ROWS_BAD], n[Native.FLAT_STATS_CANDIDATES],
        n[Native.FLAT_STATS_DEAD_BEAMS], n[Native.FLAT_STATS_SHRINKS], n[Native.FLAT_STATS_LIST_ROWS],
        n[Native.FLAT_STATS_DENSE_ROWS], n[Native.FLAT_STATS_UNCONSTRAINED_ROWS], n[Native.FLAT_STATS_PROBED_ROWS],
        n[Native.FLAT_STATS_MEMORY_BYTES], n[Native.FLAT_STATS_SINGLE_ROWS], n[Native.FLAT_STATS_SPLIT_SLOTS]);
  }
}
