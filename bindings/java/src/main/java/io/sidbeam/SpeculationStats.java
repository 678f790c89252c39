// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * Counted since a {@link Speculation} was made, over all slots. Plain search would have called the target levels times.
 *
 * @param rounds of single slots: their calls of the target's model
 * @param levels that the target's slots advanced
 * @param draftedLevels that became part of a tree
 * @param acceptedLevels of these, whose beams held all of the target's that must be fed
 * @param nodes logits rows of the target
 */
public record SpeculationStats(long rounds, long levels, long draftedLevels, long acceptedLevels, long nodes) {
  static SpeculationStats of(long[] n) {
    return new SpeculationStats(n[Native.FLAT_SPECULATION_STATS_ROUNDS], n[Native.FLAT_SPECULATION_STATS_LEVELS],
        n[Native.FLAT_SPECULATION_STATS_DRAFTED_LEVELS], n[Native.FLAT_SPECULATION_STATS_ACCEPTED_LEVELS],
        n[Native.FLAT_SPECULATION_STATS_NODES]);
  }
}
