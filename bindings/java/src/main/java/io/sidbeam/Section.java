// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * A section of an index file.
 *
 * @param kind "tokens", "row_pointers" and so on
 * @param encoding "u16", "u32", "u64", "bits" and so on
 * @param level -1 where it belongs to no level
 * @param offset of its first byte in the file
 * @param bytes its size
 * @param checksum XXH3-64, as the same bits
 */
public record Section(String kind, String encoding, int level, long offset, long bytes, long checksum) {}
