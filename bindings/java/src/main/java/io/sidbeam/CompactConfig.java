// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How {@link Catalog#compact} is done; every setter returns this object. */
public final class CompactConfig {
  int threads;
  long memoryLimitBytes;
  long bytesPerSecond;
  Builder.Progress progress;

  /** All defaults: the runtime's threads, and no limits. */
  public CompactConfig() {}

  /**
   * Threads of the build.
   *
   * @param threads 1 .. 1024; 0 (the default): the runtime's
   * @return this
   */
  public CompactConfig threads(int threads) {
    this.threads = threads;
    return this;
  }

  /**
   * A limit, as of {@link BuilderConfig#memoryLimitBytes}.
   *
   * @param bytes 0 (the default): none
   * @return this
   */
  public CompactConfig memoryLimitBytes(long bytes) {
    memoryLimitBytes = bytes;
    return this;
  }

  /**
   * Most of what is read of the catalogue and written to its folder.
   *
   * @param bytes per second; 0 (the default): as fast as it goes
   * @return this
   */
  public CompactConfig bytesPerSecond(long bytes) {
    bytesPerSecond = bytes;
    return this;
  }

  /**
   * The listener that hears how far it is, on the thread that compacts. What it throws ends the compaction and leaves
   * it.
   *
   * @param listener null: nobody
   * @return this
   */
  public CompactConfig progress(Builder.Progress listener) {
    progress = listener;
    return this;
  }
}
