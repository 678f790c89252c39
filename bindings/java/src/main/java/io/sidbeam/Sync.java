// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * When a live {@link Catalog} forces to the disk what was published. What is not may be lost if the machine stops,
 * never anything before it; a process that stops loses nothing that was published.
 */
public enum Sync {
  /** Before publish returns. */
  PUBLISH(Native.SIDBEAM_SYNC_PUBLISH),
  /** By the first publish, sync or close that comes {@link CatalogConfig#syncInterval} after the last time. */
  INTERVAL(Native.SIDBEAM_SYNC_INTERVAL),
  /** By {@link Catalog#sync}. */
  HOST(Native.SIDBEAM_SYNC_HOST);

  final int code;

  Sync(int code) {
    this.code = code;
  }
}
