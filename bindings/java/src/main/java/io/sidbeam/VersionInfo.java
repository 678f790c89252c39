// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Instant;

/**
 * A version that a live {@link Catalog} keeps.
 *
 * @param version its number
 * @param generation of its base
 * @param published when it was
 * @param items live pairs
 * @param changed pairs that came or went with it
 * @param bytes that it takes by itself, if nobody holds it
 * @param backTo the version whose content it has again; 0: none
 * @param inUse whether somebody besides the catalogue holds it
 */
public record VersionInfo(long version, long generation, Instant published, long items, long changed, long bytes,
    long backTo, boolean inUse) {
  /** From the numbers of many, of which this one's begin there. */
  static VersionInfo of(long[] n, int at) {
    return new VersionInfo(n[at + Native.FLAT_VERSION_VERSION], n[at + Native.FLAT_VERSION_GENERATION],
        CatalogInfo.instant(n[at + Native.FLAT_VERSION_PUBLISHED_NS]), n[at + Native.FLAT_VERSION_ITEMS],
        n[at + Native.FLAT_VERSION_CHANGED], n[at + Native.FLAT_VERSION_BYTES], n[at + Native.FLAT_VERSION_BACK_TO],
        n[at + Native.FLAT_VERSION_IN_USE] != 0);
  }
}
