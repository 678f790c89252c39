// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** A catalogue file that has been surveyed. */
final class Import extends NativeObject {
  private final Builder.Progress progress;

  /** Of a file for a builder: what is in it decides, as far as the config does not. */
  Import(Path path, ImportConfig config, boolean textIds) {
    this(path, config, textIds, null);
  }

  /** Of a file for a live catalogue, whose form it has. */
  Import(Path path, ImportConfig config, Catalog catalog) {
    this(path, config, false, catalog);
  }

  private Import(Path path, ImportConfig config, boolean textIds, Catalog catalog) {
    super(create());
    progress = config.progress;
    byte[] name = Text.in(path);
    byte[] format = Text.in(config.format, "format");
    byte[] ids = config.ids == null ? null : Text.in(config.ids);
    byte[] item = Text.in(config.itemColumn, "itemColumn");
    byte[] sid = Text.in(config.sidColumns, "sidColumns");
    byte[] priority = Text.in(config.priorityColumn, "priorityColumn");
    byte[] pattern = Text.in(config.tokenPattern, "tokenPattern");
    byte[] attributes = Text.in(config.attributes, "attributes");
    if (config.tokenBase < -1) {
      throw SidbeamException.invalid("tokenBase is " + config.tokenBase + ", expected a token id");
    }
    run(() -> {
      Native.flat_import_open(handle, name, config.levels, config.codes, config.variableLength ? 1 : 0, format, ids,
          item, sid, priority, pattern, config.tokenBase, config.quotes.code, textIds ? 1 : 0, attributes,
          catalog == null ? 0 : catalog.handle);
      return null;
    });
    Reference.reachabilityFence(catalog);
  }

  private static long create() {
    NativeLibrary.loadImport();
    return Native.flat_import_create();
  }

  ImportInfo info() {
    long[] numbers = new long[Native.FLAT_IMPORT_COUNT];
    int[] codes = new int[Native.SIDBEAM_MAX_LEVELS];
    try {
      Native.flat_import_get_info(handle, numbers, codes);
      List<Integer> some = new ArrayList<>();
      List<String> families = new ArrayList<>();
      for (int level = 0; level < numbers[Native.FLAT_IMPORT_LEVELS]; level++) {
        some.add(codes[level]);
        families.add(text(Native.FLAT_IMPORT_FAMILY + level));
      }
      return new ImportInfo(text(Native.FLAT_IMPORT_FORMAT), text(Native.FLAT_IMPORT_SUMMARY), List.copyOf(some),
          List.copyOf(families), text(Native.FLAT_IMPORT_BEGIN_TOKENS), text(Native.FLAT_IMPORT_END_TOKENS),
          numbers[Native.FLAT_IMPORT_ROWS], numbers[Native.FLAT_IMPORT_VARIABLE_LENGTH] != 0,
          IdType.of(numbers[Native.FLAT_IMPORT_ID_TYPE]), numbers[Native.FLAT_IMPORT_CODES_FROM_DATA] != 0);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private String text(int which) {
    byte[] bytes = new byte[Math.toIntExact(Native.flat_import_text(handle, which, null))];
    Native.flat_import_text(handle, which, bytes);
    return Text.out(bytes);
  }

  void addTo(Builder builder) {
    run(() -> {
      Native.flat_import_add_to(handle, builder.handle);
      return null;
    });
    Reference.reachabilityFence(builder);
  }

  void addTo(Catalog catalog) {
    run(() -> {
      Native.flat_import_add_to_catalog(handle, catalog.handle);
      return null;
    });
    Reference.reachabilityFence(catalog);
  }

  private void run(Supplier<Void> call) {
    try {
      new Build<>(call, progress, this::report, this::setCancelled).run();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private void report(Builder.Progress listener) {
    Builder.report(handle, listener);
  }

  private void setCancelled(int cancelled) {
    Native.flat_cancel(handle, cancelled);
  }
}
