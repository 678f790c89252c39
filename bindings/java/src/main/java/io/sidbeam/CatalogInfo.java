// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.time.Instant;

/**
 * How a live {@link Catalog} stands.
 *
 * @param follows whether another process writes it
 * @param version the newest
 * @param generation of the newest version
 * @param oldestVersion that is kept
 * @param published when the newest version was
 * @param items live (SID, item) pairs of the newest version
 * @param sids its SIDs, those without items too
 * @param baseItems pairs of the base of its generation
 * @param added pairs added since that base
 * @param removed pairs of either that have gone
 * @param changes calls that changed something since the last publish
 * @param compactSoon whether 5 % of the base were added, or 20 % are gone
 * @param logFailed whether the log could not be written, so that no publish can succeed
 * @param logBytes of the logs of all kept generations
 * @param unsyncedBytes of these
 * @param baseBytes files of the bases of all kept generations
 * @param memoryBytes what is kept in memory, except bases and versions in use
 * @param cutBytes unfinished end of the log, cut off when it was opened
 */
public record CatalogInfo(boolean follows, long version, long generation, long oldestVersion, Instant published,
    long items, long sids, long baseItems, long added, long removed, long changes, boolean compactSoon,
    boolean logFailed, long logBytes, long unsyncedBytes, long baseBytes, long memoryBytes, long cutBytes) {
  static CatalogInfo of(long[] n) {
    return new CatalogInfo(n[Native.FLAT_CATALOG_FOLLOWS] != 0, n[Native.FLAT_CATALOG_VERSION],
        n[Native.FLAT_CATALOG_GENERATION], n[Native.FLAT_CATALOG_OLDEST_VERSION],
        instant(n[Native.FLAT_CATALOG_PUBLISHED_NS]), n[Native.FLAT_CATALOG_ITEMS], n[Native.FLAT_CATALOG_SIDS],
        n[Native.FLAT_CATALOG_BASE_ITEMS], n[Native.FLAT_CATALOG_ADDED], n[Native.FLAT_CATALOG_REMOVED],
        n[Native.FLAT_CATALOG_CHANGES], n[Native.FLAT_CATALOG_COMPACT_SOON] != 0,
        n[Native.FLAT_CATALOG_LOG_FAILED] != 0, n[Native.FLAT_CATALOG_LOG_BYTES],
        n[Native.FLAT_CATALOG_UNSYNCED_BYTES], n[Native.FLAT_CATALOG_BASE_BYTES],
        n[Native.FLAT_CATALOG_MEMORY_BYTES], n[Native.FLAT_CATALOG_CUT_BYTES]);
  }

  static Instant instant(long nanos) {
    return Instant.ofEpochSecond(0, nanos);
  }
}
