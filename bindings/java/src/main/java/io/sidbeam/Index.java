// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * An opened index. Immutable: open it once, share it with every session and thread. Its users hold it, so it may be
 * closed before them.
 *
 * <p>SIDs are sorted (code by code, the end of a SID after every code) and distinct; a SID's position is its ordinal.
 * An item row is a position in the list of items, ordered by ordinal, then priority falling, then id rising.
 */
public final class Index extends NativeObject implements Constrainer {
  private Constraint constraint;
  private volatile IndexInfo info;

  Index(long handle) {
    super(handle);
  }

  /**
   * Opens a file, mapped, with its header checked.
   *
   * @param path of the file
   * @return to be closed by the caller
   */
  public static Index open(Path path) {
    return open(path, new OpenConfig());
  }

  /**
   * Opens a file. Fails with {@link Status#IO_ERROR}, {@link Status#CORRUPT} or {@link Status#UNSUPPORTED} (a newer
   * format).
   *
   * @param path of the file
   * @param config read, not kept
   * @return to be closed by the caller
   */
  public static Index open(Path path, OpenConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    byte[] name = Text.in(path);
    try {
      return new Index(Native.flat_index_open(runtime.handle, name, config.residency.code, config.verify.code));
    } finally {
      Reference.reachabilityFence(runtime);
      Log.drain();
    }
  }

  /**
   * Opens the bytes of a file that are in memory, without a copy: the buffer is held, and must not be written to, until
   * the index and all its users are closed. {@link Residency#COPY} copies it instead, from any address.
   *
   * @param bytes direct, from position to limit, at an address that is a multiple of 64 ({@link Buffers#bytes})
   * @param config read, not kept; {@link Residency#LOCK} is refused
   * @return to be closed by the caller
   */
  public static Index fromBuffer(ByteBuffer bytes, OpenConfig config) {
    Buffers.in(Buffers.given(bytes, "bytes"), "bytes");
    boolean lent = config.residency != Residency.COPY;
    Runtime runtime = Runtime.orDefault(config.runtime);
    long loan = lent ? Loans.lend(bytes) : 0;
    boolean opened = false;
    try {
      Index index = new Index(
          Native.flat_index_open_memory(runtime.handle, bytes, loan, config.residency.code, config.verify.code));
      opened = true;
      return index;
    } finally {
      if (lent && !opened) {
        Loans.takeBack(loan);
      }
      Reference.reachabilityFence(runtime);
      Log.drain();
    }
  }

  /**
   * Reads and checks the header of a file, nothing else.
   *
   * @param path of the file
   * @return what it says
   */
  public static IndexInfo peek(Path path) {
    return Header.peek(path);
  }

  /**
   * Builds an index in memory of a catalogue file: JSON objects and lists, JSON lines, CSV and TSV, .npy and .npz, told
   * by their content. The families of its tokens are in the index's metadata. Fails with {@link Status#CORRUPT} (file,
   * line, item and what was expected) where the file is no catalogue.
   *
   * @param path of the file
   * @param config read, not kept
   * @param build read, not kept; its codes, lengths and type of ids are not read: they are the file's
   * @return to be closed by the caller
   */
  public static Index fromFile(Path path, ImportConfig config, BuilderConfig build) {
    try (Import file = new Import(path, Buffers.given(config, "config"), false)) {
      ImportInfo info = file.info();
      int[] codes = info.codes().stream().mapToInt(Integer::intValue).toArray();
      try (Builder builder = new Builder(
          Buffers.given(build, "build").fitted(codes, info.variableLength(), info.idType()))) {
        file.addTo(builder);
        builder.onProgress(config.progress);
        return builder.finish();
      }
    }
  }

  /** Also closes the constraint of this index. */
  @Override
  public void close() {
    synchronized (this) {
      if (constraint != null) {
        constraint.close();
      }
    }
    super.close();
  }

  /** The constraint that stands for the whole index; closed with it. */
  synchronized Constraint constraint() {
    if (constraint == null) {
      constraint = new Constraint(this);
      constraint.ownedByAnother();
    } else if (constraint.isClosed()) {
      throw new SidbeamException(Status.BAD_STATE, "index is closed");
    }
    return constraint;
  }

  /** Calls with the handle, and keeps this object reachable until the call returns. */
  <T> T call(Supplier<T> call) {
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
   * What the header says.
   *
   * @return sizes, kinds, fingerprint
   */
  public IndexInfo info() {
    return call(() -> Header.info(handle));
  }

  private IndexInfo fixed() {
    if (info == null) {
      info = info();
    }
    return info;
  }

  /**
   * Checks the index, on the runtime's threads. Its info reports the depth from then on. Fails with {@link
   * Status#CORRUPT}.
   *
   * @param depth how much
   */
  public void verify(Verify depth) {
    run(() -> Native.flat_index_verify(handle, Buffers.given(depth, "depth").code));
    Log.drain();
  }

  /**
   * Writes the index's file: the very bytes that it was opened from, or that its builder would have written. It is
   * written beside the path, synced and renamed, as by {@link Builder#write}. Fails with {@link Status#IO_ERROR}.
   *
   * @param path of the file
   */
  public void save(Path path) {
    byte[] name = Text.in(path);
    run(() -> Native.flat_index_write(handle, name));
    Log.drain();
  }

  /**
   * The bytes of the index's file, for {@link #fromBuffer}. Fails where they are more than an array holds; {@link
   * #save} writes any index.
   *
   * @return a new array
   */
  public byte[] toBytes() {
    return call(() -> {
      long size = Native.flat_index_bytes(handle, null);
      if (size > Integer.MAX_VALUE - 8) {
        throw new SidbeamException(Status.UNSUPPORTED, "index has " + size + " bytes, expected fewer than 2^31");
      }
      byte[] bytes = new byte[(int) size];
      Native.flat_index_bytes(handle, bytes);
      return bytes;
    });
  }

  /**
   * The sections, in the order of the file.
   *
   * @return a new list
   */
  public List<Section> sections() {
    return call(() -> Header.sections(handle));
  }

  /**
   * What {@link Builder#setMetadata} kept, sorted by key.
   *
   * @return a new map
   */
  public Map<String, String> metadata() {
    return call(() -> Header.metadata(handle));
  }

  /**
   * Columns of values by item row.
   *
   * @return sorted by name, in a new list
   */
  public List<Attribute> attributes() {
    long count = call(() -> Native.flat_index_attribute_count(handle));
    List<Attribute> all = new ArrayList<>();
    for (long i = 0; i < count; i++) {
      all.add(new Attribute(this, i, fixed().items()));
    }
    return all;
  }

  /**
   * The name of the codebook.
   *
   * @return "" where the builder was given none
   */
  public String codebook() {
    return call(() -> Header.codebook(handle));
  }

  /**
   * The SID of an ordinal.
   *
   * @param ordinal 0 .. sids - 1
   * @return its codes, as many as it has
   */
  public int[] sid(long ordinal) {
    return call(() -> {
      int[] codes = new int[fixed().levels()];
      int[] length = new int[1];
      Native.flat_index_sids(handle, new long[] {ordinal}, codes.length, codes, length);
      return java.util.Arrays.copyOf(codes, length[0]);
    });
  }

  /**
   * The SIDs of many ordinals.
   *
   * @param ordinals [count]
   * @param codes gets [count, levels], -1 beyond a SID's length
   * @param lengths gets [count]
   */
  public void sids(LongBuffer ordinals, IntBuffer codes, IntBuffer lengths) {
    run(() -> Native.flat_index_sids(handle, Buffers.in(ordinals, "ordinals"), fixed().levels(),
        Buffers.out(codes, "codes"), Buffers.out(lengths, "lengths")));
  }

  /**
   * The ordinal of a whole SID.
   *
   * @param codes all of its codes
   * @return -1 where there is no such SID
   */
  public long findSid(int... codes) {
    return call(() -> {
      long[] ordinal = new long[1];
      Native.flat_index_find_sids(handle, codes, codes.length, new int[] {codes.length}, ordinal);
      return ordinal[0];
    });
  }

  /**
   * The ordinals of many whole SIDs.
   *
   * @param codes [count, levels]
   * @param lengths [count]
   * @param ordinals gets [count], -1 where there is no such SID
   */
  public void findSids(IntBuffer codes, IntBuffer lengths, LongBuffer ordinals) {
    run(() -> Native.flat_index_find_sids(handle, Buffers.in(codes, "codes"), fixed().levels(),
        Buffers.in(lengths, "lengths"), Buffers.out(ordinals, "ordinals")));
  }

  /**
   * The ordinals of the SIDs that begin with a prefix.
   *
   * @param prefix 0 .. levels codes
   * @return empty where there are none
   */
  public Range ordinals(int... prefix) {
    return call(() -> {
      long[] range = new long[2];
      Native.flat_index_ordinals(handle, prefix, range);
      return new Range(range[0], range[1]);
    });
  }

  /**
   * What may follow a prefix.
   *
   * @param prefix 0 .. levels - 1 codes
   * @return its codes, and whether it is itself a SID
   */
  public Children children(int... prefix) {
    return call(() -> {
      int[] end = new int[1];
      int[] codes = new int[(int) Native.flat_index_children(handle, prefix, null, end)];
      Native.flat_index_children(handle, prefix, codes, end);
      return new Children(codes, end[0] != 0);
    });
  }

  /**
   * The items of a SID.
   *
   * @param ordinal 0 .. sids - 1
   * @return item rows
   */
  public Range itemRows(long ordinal) {
    return call(() -> {
      long[] range = new long[2];
      Native.flat_index_item_rows(handle, ordinal, range);
      return new Range(range[0], range[1]);
    });
  }

  /**
   * The item rows of several SIDs in their order, as {@link Session#items(Items)} lists those of beams.
   *
   * @param ordinals [n], each 0 .. sids - 1, or -1 for none
   * @param limitPerSid most item rows of one SID; 0: no limit
   * @param limit most item rows of all; 0: no limit
   * @param distinct whether an item that several SIDs have is listed once, with the first of them
   * @return the rows, and where those of each ordinal are
   */
  public ItemRows itemRowsOf(long[] ordinals, long limitPerSid, long limit, boolean distinct) {
    return call(() -> ItemRows.of(ordinals.length, limit, (most, rows, offsets, truncated, none) -> Native
        .flat_index_items(handle, ordinals, limitPerSid, most, distinct ? 1 : 0, rows, offsets, truncated)));
  }

  /**
   * The item rows of several SIDs in their order, as {@link Session#items(Items)} lists those of beams.
   *
   * @param ordinals [n], each 0 .. sids - 1, or -1 for none
   * @param limits read
   * @return the rows, and where those of each ordinal are
   */
  public ItemRows itemRowsOf(long[] ordinals, ItemLimits limits) {
    return constraint().itemRowsOf(ordinals, limits);
  }

  /**
   * The ordinals to which item rows belong.
   *
   * @param rows [count], each 0 .. items - 1
   * @return [count]
   */
  public long[] itemOrdinals(long... rows) {
    return call(() -> {
      long[] ordinals = new long[rows.length];
      Native.flat_index_item_ordinals(handle, rows, ordinals);
      return ordinals;
    });
  }

  /**
   * The ids of item rows.
   *
   * @param rows [count], each 0 .. items - 1
   * @return [count]; unsigned ids as the same bits; -1 where ids are strings
   */
  public long[] itemIds(long... rows) {
    return call(() -> {
      long[] ids = new long[rows.length];
      Native.flat_index_item_ids(handle, rows, ids, null);
      return ids;
    });
  }

  /**
   * The priorities of item rows, of which those of a SID have the highest first. Fails with {@link
   * Status#MISSING_SECTION} where the index was built without {@link BuilderConfig#keepPriorities}.
   *
   * @param rows [count], each 0 .. items - 1
   * @return [count]
   */
  public long[] itemPriorities(long... rows) {
    return call(() -> {
      long[] priorities = new long[rows.length];
      Native.flat_index_item_priorities(handle, rows, priorities);
      return priorities;
    });
  }

  /**
   * The names of item rows of an index of string ids. Names that overlap, as only those of a damaged index do, are
   * {@link Status#CORRUPT}.
   *
   * @param rows [count], each 0 .. items - 1
   * @return [count]; "" where ids are numbers
   */
  public List<String> itemNames(long... rows) {
    return call(() -> {
      long[] lengths = new long[rows.length];
      Native.flat_index_item_ids(handle, rows, new long[rows.length], lengths);
      byte[] bytes = new byte[Math.toIntExact(Native.flat_index_item_names(handle, rows, null))];
      Native.flat_index_item_names(handle, rows, bytes);
      List<String> names = new ArrayList<>(rows.length);
      int used = 0;
      for (long length : lengths) {
        names.add(new String(bytes, used, (int) length, StandardCharsets.UTF_8));
        used += (int) length;
      }
      return names;
    });
  }

  /**
   * The first item row with an id, where ids are integers. One pass over the ids: for tools, not for requests.
   *
   * @param id unsigned ids as the same bits
   * @param fromRow where to begin
   * @return -1: none
   */
  public long findItem(long id, long fromRow) {
    return call(() -> Native.flat_index_find_item(handle, id, null, fromRow));
  }

  /**
   * The first item row with a name, where ids are strings. One pass over the ids: for tools, not for requests.
   *
   * @param name the id
   * @param fromRow where to begin
   * @return -1: none
   */
  public long findItem(String name, long fromRow) {
    return call(() -> Native.flat_index_find_item(handle, -1, name.getBytes(StandardCharsets.UTF_8), fromRow));
  }

  /**
   * Copies the index to a CUDA device and returns when it is there. Sessions and constraint sets on a device do so by
   * themselves.
   *
   * @param config read, not kept
   */
  public void upload(UploadConfig config) {
    run(() -> Native.flat_index_upload(handle, config.deviceId, config.kinds, config.verify ? 1 : 0, config.stream,
        config.chunkBytes, config.bytesPerSecond));
    Log.drain();
  }

  /**
   * What a device holds of the index.
   *
   * @param deviceId number of the CUDA device
   * @return kinds and bytes
   */
  public Upload uploaded(int deviceId) {
    return call(() -> {
      long[] numbers = new long[2];
      Native.flat_index_get_upload(handle, deviceId, numbers);
      return new Upload(BuilderConfig.kinds(numbers[0]), numbers[1]);
    });
  }

  /**
   * Gives up the index's own hold on its copy on a device; sessions and constraint sets keep theirs.
   *
   * @param deviceId number of the CUDA device
   */
  public void unload(int deviceId) {
    run(() -> Native.flat_index_unload(handle, deviceId));
  }
}
