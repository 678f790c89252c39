// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Supplier;

/**
 * From a catalogue, which is a list of (SID, item) pairs, to an index: add, add ... then {@link #write} or {@link
 * #finish}. Many items may share a SID and an item may have several. The same pairs and options give the same bytes,
 * whatever their order and the number of threads.
 *
 * <p>Codes are [count, levels], row-major. Buffers are direct and in the machine's order, and are read from position to
 * limit; what is needed of them is copied. Arrays may stand in for buffers. One thread at a time, any thread: a second
 * one gets {@link Status#BAD_STATE}, but {@link #cancel} and {@link #close} are allowed at any time. A thread that is
 * interrupted while it builds cancels the build, gets {@link Status#CANCELLED} and stays interrupted.
 */
public final class Builder extends NativeObject {
  /** Hears how far a build is, on the thread that called it. An exception that it throws cancels the build and leaves
   * it. */
  @FunctionalInterface
  public interface Progress {
    /**
     * Called some ten times a second.
     *
     * @param phase what is being done
     * @param done how much of total, in units of the phase
     * @param total all of the phase
     */
    void report(Phase phase, long done, long total);
  }

  private final int levels;
  private final int[] codes;
  private final boolean variableLength;
  private final IdType idType;
  private volatile Progress progress;

  /**
   * Makes an empty builder.
   *
   * @param config read, not kept
   */
  public Builder(BuilderConfig config) {
    super(create(Buffers.given(config, "config")));
    levels = config.codes.length;
    codes = config.codes;
    variableLength = config.variableLength;
    idType = config.idType;
  }

  private static long create(BuilderConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    try {
      return Native.flat_builder_create(runtime.handle, config.codes, config.variableLength ? 1 : 0, config.idType.code,
          config.kindBits(), config.collisions.code, config.threads, config.memoryLimitBytes,
          Text.in(config.codebook, "codebook"), config.hashSeed, config.allowAttributeLoss ? 1 : 0,
          config.keepPriorities ? 1 : 0);
    } finally {
      Reference.reachabilityFence(runtime);
    }
  }

  /**
   * Declares an attribute of the items, before the first pairs. One that is declared already, of the same type, stays
   * as it is.
   *
   * @param name 1 to 128 bytes of UTF-8
   * @param type what it holds
   */
  public void declareAttribute(String name, AttributeType type) {
    byte[] text = Text.in(Buffers.given(name, "name"), "name");
    try {
      Native.flat_builder_declare_attribute(handle, text, Buffers.given(type, "type").code);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Gives the pairs of the last call of add the values of an attribute. Pairs that are given none are null. Where
   * identical pairs merge, null gives way to a value, and values that differ make the build fail.
   *
   * @param name declared before
   * @param values one per pair, of its type
   */
  public void setAttribute(String name, AttributeValues values) {
    byte[] text = Text.in(Buffers.given(name, "name"), "name");
    AttributeValues v = Buffers.given(values, "values");
    try {
      Native.flat_builder_set_attribute(handle, text, v.count, v.valid, v.integers, v.numbers, v.bools, v.text,
          v.offsets, v.lists, null);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Adds SIDs of full length; the id of each is its pair's number, counted over all calls.
   *
   * @param codes [count, levels]
   */
  public void add(int[] codes) {
    add(codes, null, null, null);
  }

  /**
   * Adds pairs.
   *
   * @param codes [count, levels]
   * @param lengths [count] codes of each SID; null: all levels
   * @param ids [count]; null: the pair's number. Either all calls give ids or none does
   * @param priorities [count] higher comes first within a SID; null: 0
   */
  public void add(int[] codes, int[] lengths, long[] ids, long[] priorities) {
    long count = rows(Buffers.given(codes, "codes").length);
    addPairs(codes, lengths, count, ids, priorities);
  }

  /**
   * The same from buffers, without a copy on the way.
   *
   * @param codes [count, levels]
   * @param lengths [count] or null
   * @param ids [count] or null
   * @param priorities [count] or null
   */
  public void add(IntBuffer codes, IntBuffer lengths, LongBuffer ids, LongBuffer priorities) {
    long count = rows(Buffers.given(codes, "codes").remaining());
    addPairs(Buffers.in(codes, "codes"), Buffers.in(lengths, "lengths"), count, Buffers.in(ids, "ids"),
        Buffers.in(priorities, "priorities"));
  }

  private void addPairs(Object codes, Object lengths, long count, Object ids, Object priorities) {
    try {
      Native.flat_builder_add(handle, codes, levels, lengths, count, ids, priorities);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Adds pairs whose ids are strings ({@link IdType#STRING}).
   *
   * @param codes [count, levels]
   * @param lengths [count] or null
   * @param names [count]
   * @param priorities [count] or null
   */
  public void addNamed(int[] codes, int[] lengths, List<String> names, long[] priorities) {
    int count = Math.toIntExact(rows(Buffers.given(codes, "codes").length));
    Text.Joined joined = Text.join(names, "names").ofPairs(count);
    addNamedPairs(codes, lengths, count, joined.bytes(), joined.offsets(), priorities);
  }

  /**
   * The same from buffers: name i is nameBytes[offsets[i] .. offsets[i + 1]).
   *
   * @param codes [count, levels]
   * @param lengths [count] or null
   * @param nameBytes all names, one after the other, in UTF-8
   * @param offsets [count + 1], rising
   * @param priorities [count] or null
   */
  public void addNamed(IntBuffer codes, IntBuffer lengths, ByteBuffer nameBytes, LongBuffer offsets,
      LongBuffer priorities) {
    long count = rows(Buffers.given(codes, "codes").remaining());
    addNamedPairs(Buffers.in(codes, "codes"), Buffers.in(lengths, "lengths"), count,
        Buffers.in(Buffers.given(nameBytes, "nameBytes"), "nameBytes"),
        Buffers.in(Buffers.given(offsets, "offsets"), "offsets"), Buffers.in(priorities, "priorities"));
  }

  /**
   * Adds all pairs of a stream of Arrow's record batches, with the usual names of columns; see {@link
   * #addArrow(long, ArrowColumns)}.
   *
   * @param stream the address of an ArrowArrayStream
   * @return the number of pairs
   */
  public long addArrow(long stream) {
    return addArrow(stream, new ArrowColumns());
  }

  /**
   * Adds all pairs of a stream of Arrow's record batches, batch by batch, without a copy on the way. The stream is
   * released before this returns, whatever happens. Fails with {@link Status#INVALID_ARGUMENT}, naming column, row and
   * value, or {@link Status#IO_ERROR}, with what the stream says; then nothing of this call has been added.
   *
   * @param stream the address of an ArrowArrayStream of Arrow's C data interface: in arrow-java,
   *     {@code ArrowArrayStream.memoryAddress()}
   * @param columns which columns hold what
   * @return the number of pairs
   */
  public long addArrow(long stream, ArrowColumns columns) {
    try {
      ArrowColumns.Names names = ArrowColumns.of(stream, columns);
      return names.call((sid, levels, prefix, item, priority) -> Native.flat_builder_add_arrow(handle, stream, sid,
          levels, prefix, item, priority, names.attributes(), names.allAttributes() ? 1 : 0));
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private void addNamedPairs(Object codes, Object lengths, long count, Object nameBytes, Object offsets,
      Object priorities) {
    try {
      Native.flat_builder_add_named(handle, codes, levels, lengths, count, nameBytes, offsets, priorities);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private long rows(int codes) {
    if (codes % levels != 0) {
      throw SidbeamException.invalid("codes has " + codes + " elements, expected a multiple of the " + levels
          + " levels");
    }
    return codes / levels;
  }

  /**
   * Adds all pairs of a catalogue file. Levels, codes and lengths are the builder's. Ids of a builder of {@link
   * IdType#STRING} may be integers in the file; otherwise their type must be the builder's. Fails with {@link
   * Status#CORRUPT} (file, line, item and what was expected) where the file is no catalogue; then some of its pairs may
   * have been added, and the builder is to be closed.
   *
   * @param path JSON, CSV, .npy or .npz, told by its content
   * @param config read, not kept; levels, codes and lengths are not read
   * @return what was seen in the file
   */
  public ImportInfo addFile(Path path, ImportConfig config) {
    ImportConfig fitted = Buffers.given(config, "config").fitted(codes, variableLength);
    try (Import file = new Import(path, fitted, idType == IdType.STRING)) {
      file.addTo(this);
      return file.info();
    }
  }

  /**
   * Keeps a key and a value in the index; a key that is given again replaces the value.
   *
   * @param key any text
   * @param value any text
   */
  public void setMetadata(String key, String value) {
    try {
      Native.flat_builder_set_metadata(handle, Text.in(key, "key"), Text.in(value, "value"));
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * The listener that hears how far a build is.
   *
   * @param listener null: nobody
   */
  public void onProgress(Progress listener) {
    progress = listener;
  }

  /**
   * Sorts what was added, so that write and finish need not, and gives exact sizes.
   *
   * @return sizes of the index
   */
  public Plan plan() {
    return build(() -> Plan.take(Native.flat_builder_plan(handle), levels));
  }

  /**
   * Sizes expected for SIDs drawn uniformly, one item each, without building anything. Priorities that are kept count
   * as of 8 bytes.
   *
   * @param config of the index
   * @param sids how many distinct SIDs
   * @return sizes of the index
   */
  public static Plan estimate(BuilderConfig config, long sids) {
    long plan = Native.flat_plan_estimate(config.codes, config.variableLength ? 1 : 0, config.idType.code,
        config.kindBits(), config.keepPriorities ? 1 : 0, sids);
    return Plan.take(plan, config.codes.length);
  }

  /**
   * Writes the index beside a file, syncs it and renames it to that file: a reader sees the old one or the whole new
   * one. On a failure the old file is unchanged and nothing else is left. Links are followed; owner, mode and
   * attributes of the old file are kept (see {@link BuilderConfig#allowAttributeLoss}).
   *
   * @param path file to make or replace
   */
  public void write(Path path) {
    byte[] name = Text.in(path);
    build(() -> {
      Native.flat_builder_write(handle, name);
      return null;
    });
  }

  /**
   * The same index in memory.
   *
   * @return to be closed by the caller
   */
  public Index finish() {
    return build(() -> new Index(Native.flat_builder_finish(handle)));
  }

  /** Lets the running build, or the next one, fail with {@link Status#CANCELLED}. From any thread. */
  public void cancel() {
    setCancelled(1);
  }

  private void setCancelled(int cancelled) {
    try {
      Native.flat_cancel(handle, cancelled);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /** Runs a call that an interrupt of this thread, or the listener, may cancel; tests give it one that does not end. */
  <T> T build(Supplier<T> call) {
    try {
      return new Build<>(call, progress, this::report, this::setCancelled).run();
    } finally {
      Log.drain();
      Reference.reachabilityFence(this);
    }
  }

  private void report(Progress listener) {
    report(handle, listener);
  }

  /** Of the running call of a builder, an import or a compaction. */
  static void report(long handle, Progress listener) {
    long[] numbers = new long[3];
    Native.flat_get_progress(handle, numbers);
    listener.report(Phase.of(numbers[0]), numbers[1], numbers[2]);
  }
}
