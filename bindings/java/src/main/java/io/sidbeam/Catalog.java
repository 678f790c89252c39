// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * A live catalogue: an index to which items come and from which they go while it serves. {@link #add} and {@link
 * #remove} change it for nobody, and {@link #publish} makes all of that visible at once, as a new version. A version is
 * an immutable {@link Index}, and a search in it returns what an index of its live items alone would; requests keep the
 * one that they began with. Item rows and ordinals keep their numbers from version to version, until a compaction (a
 * new generation) numbers all anew.
 *
 * <pre>{@code
 * try (Catalog catalog = Catalog.open(folder)) {
 *   catalog.add(new Pairs(codes).ids(ids).attribute("price", AttributeValues.of(prices)));
 *   catalog.remove(ItemList.ofIds(sold));
 *   catalog.publish();
 *   try (Index index = catalog.snapshot()) {
 *     // an index like any other
 *   }
 * }
 * }</pre>
 *
 * <p>A folder has one object that writes it at a time, of {@link #create} or {@link #open}, and any number that {@link
 * #follow} it, in this process and others. Any thread may call; calls that change the catalogue wait for each other.
 * {@link #close} drops what was not published, and lets the calls that run finish; versions go on.
 */
public final class Catalog extends NativeObject {
  private static final long SLICE_MILLIS = 100; // a wait hears so often of an interrupt and of close

  private final int levels;

  private Catalog(long handle) {
    super(handle);
    try (Index newest = snapshot()) {
      levels = newest.info().levels();
    }
  }

  /**
   * Makes a catalogue in memory, whose version 1 is the base.
   *
   * @param base with a trie; held
   * @return to be closed by the caller
   */
  public static Catalog create(Index base) {
    return create(base, null, new CatalogConfig());
  }

  /**
   * Makes a catalogue in a folder, whose version 1 is a copy of the base.
   *
   * @param base with a trie
   * @param folder which is made, or holds no catalogue yet
   * @return to be closed by the caller
   */
  public static Catalog create(Index base, Path folder) {
    return create(base, Buffers.given(folder, "folder"), new CatalogConfig());
  }

  /**
   * Makes a catalogue. Fails with {@link Status#INVALID_ARGUMENT} (config; a folder that holds a catalogue; a version
   * as base), {@link Status#MISSING_SECTION} (no trie), {@link Status#IO_ERROR} or {@link Status#BAD_STATE} (another
   * writer).
   *
   * @param base with a trie
   * @param folder null: in memory
   * @param config read, not kept
   * @return to be closed by the caller
   */
  public static Catalog create(Index base, Path folder, CatalogConfig config) {
    CatalogConfig c = Buffers.given(config, "config");
    byte[] name = folder == null ? null : Text.in(folder, "folder");
    long handle = Buffers.given(base, "base").handle;
    return made(base, () -> Native.flat_catalog_create(handle, folder == null ? 1 : 0, name, c.sync.code,
        c.syncIntervalMillis, c.keepVersions, c.keepMillis, c.residency.code, c.verify.code));
  }

  /**
   * Opens a folder to write it.
   *
   * @param folder of a catalogue
   * @return to be closed by the caller
   */
  public static Catalog open(Path folder) {
    return open(folder, new CatalogConfig());
  }

  /**
   * Opens a folder to write it. Fails with {@link Status#BAD_STATE} (another writer, named: process, host and since
   * when), {@link Status#IO_ERROR}, {@link Status#CORRUPT} (which file, and what of it) or {@link Status#UNSUPPORTED}
   * (a newer format).
   *
   * @param folder of a catalogue
   * @param config read, not kept
   * @return to be closed by the caller
   */
  public static Catalog open(Path folder, CatalogConfig config) {
    return open(folder, config, 0);
  }

  /**
   * Opens a folder to read it, whoever writes it.
   *
   * @param folder of a catalogue
   * @return to be closed by the caller
   */
  public static Catalog follow(Path folder) {
    return follow(folder, new CatalogConfig());
  }

  /**
   * Opens a folder to read it, whoever writes it; nothing in it is changed, not even a lock. What is published later is
   * seen after {@link #refresh}. Fails as {@link #open} does.
   *
   * @param folder of a catalogue
   * @param config read, not kept; sync and acceptLoss have no effect
   * @return to be closed by the caller
   */
  public static Catalog follow(Path folder, CatalogConfig config) {
    return open(folder, config, 1);
  }

  private static Catalog open(Path folder, CatalogConfig config, int follows) {
    CatalogConfig c = Buffers.given(config, "config");
    byte[] name = Text.in(folder, "folder");
    Runtime runtime = Runtime.orDefault(c.runtime);
    return made(runtime, () -> Native.flat_catalog_open(runtime.handle, name, follows, c.sync.code,
        c.syncIntervalMillis, c.keepVersions, c.keepMillis, c.residency.code, c.verify.code, c.acceptLoss ? 1 : 0));
  }

  private static Catalog made(NativeObject owner, LongSupplier make) {
    try {
      return new Catalog(make.getAsLong());
    } finally {
      Reference.reachabilityFence(owner);
      Log.drain();
    }
  }

  private <T> T call(Supplier<T> call) {
    try {
      return call.get();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private void run(Runnable call) {
    try {
      call.run();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Adds pairs, to be published. A pair that is live already is updated: it takes the priority and the attributes that
   * are given, and keeps those that are not. One that was removed is new again. Fails with {@link
   * Status#INVALID_ARGUMENT}, naming row, level and value; then nothing of the call has been added.
   *
   * @param pairs with ids or names, as the base has them; read, not kept
   */
  public void add(Pairs pairs) {
    Pairs p = Buffers.given(pairs, "pairs");
    int count = p.count(levels);
    try (Pairs.Columns columns = p.attributes.isEmpty() ? null : new Pairs.Columns(p.attributes)) {
      run(() -> Native.flat_catalog_add(handle, p.codes, levels, p.lengths, count, p.ids, p.names.bytes(),
          p.names.offsets(), p.priorities, columns == null ? 0 : columns.handle));
    }
  }

  /**
   * Adds the pairs of a stream of Arrow's record batches, to be published. Columns that are attributes must be those of
   * the base; otherwise as {@link Builder#addArrow(long, ArrowColumns)}.
   *
   * @param stream the address of an ArrowArrayStream, which is released
   * @param columns which columns hold what
   * @return the number of pairs
   */
  public long addArrow(long stream, ArrowColumns columns) {
    ArrowColumns.Names names = ArrowColumns.of(stream, columns);
    return call(() -> names.call((sid, levels, prefix, item, priority) -> Native.flat_catalog_add_arrow(handle, stream,
        sid, levels, prefix, item, priority, names.attributes(), names.allAttributes() ? 1 : 0)));
  }

  /**
   * Adds all pairs of a catalogue file, to be published. Codes, lengths and the type of ids are the catalogue's, and so
   * are the types of attributes; where its base was built of tokens, the file's must be of the same families. Where no
   * record has a priority, pairs that are live keep theirs. Fails with {@link Status#CORRUPT} (file, line, item and
   * what was expected) where the file is no catalogue, or does not fit this one. After a failure, or an interrupt, some
   * of its pairs may have been added: see {@link #discard}.
   *
   * @param path JSON, CSV, .npy or .npz, told by its content
   * @param config read, not kept; levels, codes and lengths are not read
   * @return what was seen in the file
   */
  public ImportInfo addFile(Path path, ImportConfig config) {
    try (Import file = new Import(path, Buffers.given(config, "config"), this)) {
      file.addTo(this);
      return file.info();
    }
  }

  /**
   * Removes all pairs of items, to be published.
   *
   * @param items by id
   * @return the number of entries that have none
   */
  public long remove(ItemList items) {
    if (Buffers.given(items, "items").by == Native.SIDBEAM_ITEMS_BY_ROW && items.size() > 0) {
      throw SidbeamException.invalid("items lists item rows, expected ids or names: items are removed by id");
    }
    return call(() -> Native.flat_catalog_remove(handle, items.by, items.numbers, items.names, items.offsets));
  }

  /** Drops all changes since the last publish. */
  public void discard() {
    run(() -> Native.flat_catalog_discard(handle));
  }

  /**
   * Makes the changes visible as a new version. On a failure nothing has been published, and the changes wait for the
   * next publish. Fails with {@link Status#IO_ERROR}: once it is uncertain what the log holds, no publish succeeds
   * until the catalogue is opened again.
   *
   * @return the number of the version; without changes that of the newest
   */
  public long publish() {
    return call(() -> Native.flat_catalog_publish(handle));
  }

  /**
   * Publishes the content of a version that is kept as a new version, and drops the changes since the last publish.
   *
   * @param version to go back to
   * @return the number of the new version
   */
  public long rollback(long version) {
    return call(() -> Native.flat_catalog_rollback(handle, version));
  }

  /**
   * Compacts with all defaults; see {@link #compact(CompactConfig)}.
   *
   * @return the number of the new version
   */
  public long compact() {
    return compact(new CompactConfig());
  }

  /**
   * Builds a base of all live pairs and publishes the newest content on it: a version of a new generation, without
   * anything added or removed. {@link CatalogInfo#compactSoon} says when that is worth its time. It takes as much
   * memory as a build; other threads go on to add, publish and read, and what they publish meanwhile is carried over. A
   * thread that is interrupted meanwhile cancels it, gets {@link Status#CANCELLED} and stays interrupted. After any
   * failure all is as it was.
   *
   * @param config read, not kept
   * @return the number of the new version
   */
  public long compact(CompactConfig config) {
    CompactConfig c = Buffers.given(config, "config");
    try (Compaction running = new Compaction()) {
      return call(() -> new Build<>(() -> Native.flat_catalog_compact(handle, running.handle, c.threads,
          c.memoryLimitBytes, c.bytesPerSecond), c.progress, running::report, running::setCancelled).run());
    } finally {
      Log.drain();
    }
  }

  /** What one compaction is cancelled and watched by. */
  private static final class Compaction extends NativeObject {
    Compaction() {
      super(Native.flat_compaction_create());
    }

    void report(Builder.Progress listener) {
      Builder.report(handle, listener);
    }

    void setCancelled(int cancelled) {
      Native.flat_cancel(handle, cancelled);
    }
  }

  /** Forces what was published to the disk. */
  public void sync() {
    run(() -> Native.flat_catalog_sync(handle));
  }

  /**
   * Takes over what has been published since, each version whole, without waiting for anything.
   *
   * @return the newest version
   */
  public long refresh() {
    return call(() -> Native.flat_catalog_refresh(handle, 0));
  }

  /**
   * The same, but waits where nothing is new. A thread that is interrupted while it waits gets {@link Status#CANCELLED}
   * and stays interrupted; closing the catalogue ends the wait too. On a failure its newest version stays.
   *
   * @param wait at most
   * @return the newest version
   */
  public long refresh(Duration wait) {
    long left = CatalogConfig.millis(wait, "wait");
    long before = info().version();
    long end = System.nanoTime() + left * 1_000_000;
    while (true) {
      long slice = Math.min(left, SLICE_MILLIS);
      long version = call(() -> Native.flat_catalog_refresh(handle, slice));
      left = (end - System.nanoTime() + 999_999) / 1_000_000;
      if (version != before || left <= 0) {
        return version;
      }
      if (Thread.currentThread().isInterrupted()) {
        throw new SidbeamException(Status.CANCELLED, "the wait for a version was interrupted");
      }
    }
  }

  /**
   * The newest version.
   *
   * @return to be closed by the caller; may outlive the catalogue
   */
  public Index snapshot() {
    return snapshot(0);
  }

  /**
   * A version that is kept. Fails with {@link Status#INVALID_ARGUMENT}, naming those that are.
   *
   * @param version its number; 0: the newest
   * @return to be closed by the caller; may outlive the catalogue
   */
  public Index snapshot(long version) {
    return call(() -> new Index(Native.flat_catalog_snapshot(handle, version)));
  }

  /**
   * How the catalogue stands.
   *
   * @return as of now
   */
  public CatalogInfo info() {
    long[] numbers = new long[Native.FLAT_CATALOG_COUNT];
    run(() -> Native.flat_catalog_get_info(handle, numbers));
    return CatalogInfo.of(numbers);
  }

  /**
   * The versions that are kept, the oldest first.
   *
   * @return as of now
   */
  public List<VersionInfo> versions() {
    long[] numbers = new long[0];
    while (true) { // others may publish meanwhile
      long[] room = numbers;
      int need = Math.toIntExact(call(() -> Native.flat_catalog_versions(handle, room))) * Native.FLAT_VERSION_COUNT;
      if (need <= room.length) {
        List<VersionInfo> versions = new ArrayList<>();
        for (int at = 0; at < need; at += Native.FLAT_VERSION_COUNT) {
          versions.add(VersionInfo.of(room, at));
        }
        return versions;
      }
      numbers = new long[need];
    }
  }
}
