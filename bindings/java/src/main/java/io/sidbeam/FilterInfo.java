// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * What a filter holds.
 *
 * @param prepared whether what a search reads has been derived
 * @param items item rows in the filter
 * @param sids SIDs with such a row; -1 until it is prepared
 * @param bytes that the filter takes by now
 */
public record FilterInfo(boolean prepared, long items, long sids, long bytes) {
}
