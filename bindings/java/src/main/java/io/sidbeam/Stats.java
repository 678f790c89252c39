// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Counted since a session was made. How many logits rows can be skipped depends on the number of threads and their
 * pace, so the counts of logits rows are outside the promise of same bits.
 *
 * @param steps calls of step
 * @param rowsRead logits rows that were read
 * @param rowsSkipped logits rows that could not matter
 * @param rowsBad logits rows with NaN or +inf
 * @param deadBeams beams that a step could not fill
 * @param memoryBytes memory that the session holds
 */
public record Stats(long steps, long rowsRead, long rowsSkipped, long rowsBad, long deadBeams, long memoryBytes) {
  static Stats of(long[] n) {
    return new Stats(n[Native.FLAT_STATS_STEPS], n[Native.FLAT_STATS_ROWS_READ], n[Native.FLAT_STATS_ROWS_SKIPPED],
        n[Native.FLAT_STATS_ROWS_BAD], n[Native.FLAT_STATS_DEAD_BEAMS], n[Native.FLAT_STATS_MEMORY_BYTES]);
  }
}
