// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * The item rows of n ordinals: ordinal i has rows[offsets[i] .. offsets[i + 1]).
 *
 * @param rows of all of them, in their order
 * @param offsets [n + 1]
 * @param truncated whether a limit left rows out
 */
public record ItemRows(long[] rows, long[] offsets, boolean truncated) {
}
