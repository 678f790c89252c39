// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * What may follow a prefix.
 *
 * @param codes rising
 * @param end whether the prefix is itself a SID
 */
public record Children(int[] codes, boolean end) {}
