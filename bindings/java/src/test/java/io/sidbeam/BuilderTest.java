// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class BuilderTest {
  @Test
  void arraysAndBuffersMakeTheSameIndex() {
    try (Builder arrays = new Builder(new BuilderConfig(4, 4)); Builder buffers = new Builder(new BuilderConfig(4,
        4))) {
      arrays.add(Fixtures.CATALOGUE);
      buffers.add(Buffers.ints(Fixtures.CATALOGUE), null, null, null);
      try (Index one = arrays.finish(); Index other = buffers.finish()) {
        assertEquals(one.info().fingerprint(), other.info().fingerprint());
      }
    }
  }

  @Test
  void aHashSeedIsPartOfWhatMakesTheBytes(@TempDir Path folder) throws Exception {
    List<String> made = new ArrayList<>();
    for (long seed : new long[] {0, 7, 7, -7}) {
      Path file = folder.resolve("x.sidx");
      try (Builder builder = Fixtures.builder(new BuilderConfig(4, 4).kinds(Kind.HASH).hashSeed(seed))) {
        builder.write(file);
      }
      made.add(Arrays.toString(Files.readAllBytes(file)));
    }
    assertEquals(made.get(1), made.get(2));
    assertEquals(3, new HashSet<>(made).size());
  }

  @Test
  void buffersAreReadFromPositionToLimit() {
    int[] shifted = new int[Fixtures.CATALOGUE.length + 3];
    System.arraycopy(Fixtures.CATALOGUE, 0, shifted, 2, Fixtures.CATALOGUE.length);
    try (Builder builder = new Builder(new BuilderConfig(4, 4))) {
      builder.add(Buffers.ints(shifted).position(2).limit(shifted.length - 1), null, null, null);
      try (Index index = builder.finish()) {
        assertArrayEquals(new int[] {0, 1}, index.sid(0));
        assertEquals(8, index.info().items());
      }
    }
  }

  @Test
  void keepsNamesMetadataAndCodebookOfAnyScript() {
    List<String> names = List.of("Ünïcödé", "\uD83D\uDE00 beyond 16 bits", "");
    try (Builder builder = new Builder(new BuilderConfig(4, 4).idType(IdType.STRING).codebook("кодовая книга"))) {
      builder.addNamed(new int[] {0, 0, 1, 1, 2, 2}, null, names, null);
      builder.setMetadata("clé", "值\uD83D\uDE00");
      builder.setMetadata("a", "b");
      try (Index index = builder.finish()) {
        assertEquals(names, index.itemNames(0, 1, 2));
        assertEquals(Map.of("clé", "值\uD83D\uDE00", "a", "b"), index.metadata());
        assertEquals("кодовая книга", index.codebook());
        assertEquals(1, index.findItem("\uD83D\uDE00 beyond 16 bits", 0));
        assertEquals(2, index.findItem("", 0));
        assertEquals(-1, index.findItem("none", 0));
        refused(Status.INVALID_ARGUMENT, "the ids of this index are strings", () -> index.findItem(0, 0));
      }
      refused(Status.INVALID_ARGUMENT, "key holds a NUL", () -> builder.setMetadata("a\0b", "c"));
    }
  }

  @Test
  void namesFromBuffersAreCheckedBeforeTheyAreRead() {
    try (Builder builder = new Builder(new BuilderConfig(4).idType(IdType.STRING))) {
      var bytes = Buffers.bytes(4).put(0, "abcd".getBytes(StandardCharsets.UTF_8));
      var codes = Buffers.ints(new int[] {0, 1});
      refused(Status.INVALID_ARGUMENT, "nameBytes has 4 elements, expected at least 5",
          () -> builder.addNamed(codes, null, bytes, Buffers.longs(new long[] {0, 2, 5}), null));
      refused(Status.INVALID_ARGUMENT, "offsets[2] is 4, expected at least the entry before",
          () -> builder.addNamed(codes, null, bytes, Buffers.longs(new long[] {0, 1 << 20, 4}), null));
      refused(Status.INVALID_ARGUMENT, "offsets has 2 elements, expected at least 3",
          () -> builder.addNamed(codes, null, bytes, Buffers.longs(new long[] {0, 2}), null));
      for (List<String> names : List.of(List.of("a"), List.of("a", "b", "c"))) {
        refused(Status.INVALID_ARGUMENT, "names has " + names.size() + " elements, expected 2",
            () -> builder.addNamed(new int[] {0, 1}, null, names, null));
      }
      builder.addNamed(codes, null, bytes, Buffers.longs(new long[] {0, 1, 4}), null);
      try (Index index = builder.finish()) {
        assertEquals(List.of("a", "bcd"), index.itemNames(0, 1));
      }
    }
  }

  @Test
  void unsignedIdsAreTheSameBits() {
    try (Builder builder = new Builder(new BuilderConfig(4).idType(IdType.U64))) {
      builder.add(new int[] {1, 1}, null, new long[] {-1, 1}, null);
      try (Index index = builder.finish()) {
        long[] ids = index.itemIds(0, 1);
        assertEquals("1", Long.toUnsignedString(ids[0]));
        assertEquals("18446744073709551615", Long.toUnsignedString(ids[1]));
        assertEquals(1, index.findItem(-1, 0));
        assertEquals(IdType.U64, index.info().idType());
      }
    }
  }

  @Test
  void keepsPrioritiesOnRequest() {
    for (boolean keep : new boolean[] {true, false}) {
      try (Builder builder = new Builder(new BuilderConfig(4).keepPriorities(keep))) {
        builder.add(new int[] {1, 1, 0}, null, new long[] {7, 8, 9}, new long[] {-3, Long.MAX_VALUE, Long.MIN_VALUE});
        try (Index index = builder.finish()) {
          index.verify(Verify.FULL);
          assertArrayEquals(new long[] {9, 8, 7}, index.itemIds(0, 1, 2));
          if (keep) {
            assertArrayEquals(new long[] {Long.MIN_VALUE, Long.MAX_VALUE, -3}, index.itemPriorities(0, 1, 2));
            refused(Status.INVALID_ARGUMENT, "expected 0..2", () -> index.itemPriorities(3));
          } else {
            refused(Status.MISSING_SECTION, "the index keeps no priorities", () -> index.itemPriorities(0));
          }
        }
      }
    }
    List<Section> sections = Builder.estimate(new BuilderConfig(4, 4).keepPriorities(true), 8).sections();
    assertEquals("item_priorities", sections.get(sections.size() - 1).kind());
  }

  @Test
  void refusesWhatIsNoCatalogue() {
    try (Builder builder = new Builder(new BuilderConfig(4, 4))) {
      refused(Status.INVALID_ARGUMENT, "codes has 3 elements, expected a multiple of the 2 levels",
          () -> builder.add(new int[] {0, 1, 2}));
      refused(Status.INVALID_ARGUMENT, "row 0, level 1: code 4, expected 0 to 3", () -> builder.add(new int[] {0, 4}));
      refused(Status.INVALID_ARGUMENT, "ids has 1 elements, expected at least 2",
          () -> builder.add(new int[] {0, 1, 0, 2}, null, new long[1], null));
      refused(Status.INVALID_ARGUMENT, "codes is null", () -> builder.add((int[]) null));
      refused(Status.INVALID_ARGUMENT, "the catalogue is empty", builder::finish);
    }
    refused(Status.INVALID_ARGUMENT, "levels is 0, expected 1 to 255", () -> new Builder(new BuilderConfig()));
    refused(Status.INVALID_ARGUMENT, "config is null", () -> new Builder(null));
    try (Builder builder = new Builder(new BuilderConfig(4).collisions(Collisions.ERROR))) {
      builder.add(new int[] {1, 1});
      refused(Status.COLLISION, "the SID 1 has the items 0 (row 0) and 1 (row 1)", builder::finish);
    }
    try (Builder builder = new Builder(new BuilderConfig(4).memoryLimitBytes(1))) {
      refused(Status.OUT_OF_MEMORY, "bytes, memory_limit_bytes is 1", () -> {
        builder.add(new int[] {1, 1});
        builder.finish();
      });
    }
  }

  @Test
  void keepsTheModeOfTheFileThatItReplaces(@TempDir Path folder) throws Exception {
    Path file = Files.writeString(folder.resolve("a.sidx"), "old");
    Set<PosixFilePermission> mode = PosixFilePermissions.fromString("rw----r--");
    Files.setPosixFilePermissions(file, mode);
    for (boolean allow : new boolean[] {false, true}) {
      try (Builder builder = Fixtures.builder(new BuilderConfig(4, 4).allowAttributeLoss(allow))) {
        builder.write(file);
      }
      assertEquals(mode, Files.getPosixFilePermissions(file));
      Index.open(file).close();
    }
  }

  @Test
  void plansWhatItThenWrites(@TempDir Path folder) throws Exception {
    try (Builder builder = Fixtures.builder(new BuilderConfig(4, 4).kinds(Kind.TRIE, Kind.SORTED))) {
      Plan plan = builder.plan();
      builder.write(folder.resolve("a.sidx"));
      assertTrue(plan.exact());
      assertEquals(7, plan.sids());
      assertEquals(8, plan.items());
      assertEquals(2, plan.nodes().length);
      assertEquals(Files.size(folder.resolve("a.sidx")), plan.fileBytes());
      refused(Status.BAD_STATE, "nothing can be added after plan", () -> builder.add(new int[] {0, 0}));
    }
    Plan estimate = Builder.estimate(new BuilderConfig(4, 4), 8);
    assertEquals(8, estimate.sids());
    assertTrue(!estimate.exact());
    assertEquals(Set.of(Kind.TRIE, Kind.SORTED), EnumSet.copyOf(Index.peek(folder.resolve("a.sidx")).kinds()));
    refused(Status.INVALID_ARGUMENT, "sids is 17, but these codes allow only 16 SIDs",
        () -> Builder.estimate(new BuilderConfig(4, 4), 17));
  }

  @Test
  void aFileThatCannotBeWrittenSaysWhere(@TempDir Path folder) {
    try (Builder builder = Fixtures.builder(new BuilderConfig(4, 4))) {
      refused(Status.IO_ERROR, "missing/a.sidx': No such file", () -> builder.write(folder.resolve("missing/a.sidx")));
    }
  }

  private static void finishUntilRefused(Builder builder) {
    Fixtures.buildUntilRefused(builder, () -> new Index(Native.flat_builder_finish(builder.handle)).close());
  }

  @Test
  void reportsProgressOnTheCallersThreadWhileItBuilds() {
    Thread caller = Thread.currentThread();
    try (Builder builder = Fixtures.large()) {
      builder.onProgress((phase, done, total) -> {
        assertSame(caller, Thread.currentThread());
        assertTrue(done >= 0 && done <= total, done + " of " + total);
        // Before the worker is inside, codes would be added; between two of its builds they are refused otherwise.
        if (done > 0 && assertThrows(SidbeamException.class, () -> builder.add(new int[4])).getMessage()
            .equals("builder is in use by another thread")) {
          builder.cancel();
        }
      });
      refused(Status.CANCELLED, "the build was cancelled", () -> finishUntilRefused(builder));
    }
  }

  @Test
  void anInterruptCancelsTheBuildAndStays(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("a.sidx");
    try (Builder builder = Fixtures.large()) {
      builder.onProgress((phase, done, total) -> Thread.currentThread().interrupt());
      refused(Status.CANCELLED, "the build was cancelled", () -> Fixtures.buildUntilRefused(builder, () -> {
        Native.flat_builder_write(builder.handle, Text.in(file));
        assertTrue(file.toFile().delete());
      }));
      assertTrue(Thread.interrupted());
      try (var files = Files.list(folder)) {
        assertEquals(0, files.count());
      }
      builder.onProgress(null);
      builder.write(file); // the cancellation was of that build only
    }
  }

  @Test
  void whatAListenerThrowsComesOutOfTheBuild() {
    try (Builder builder = Fixtures.large()) {
      builder.onProgress((phase, done, total) -> {
        throw new IllegalStateException("mine");
      });
      assertEquals("mine", assertThrows(IllegalStateException.class, () -> finishUntilRefused(builder)).getMessage());
      builder.onProgress(null);
      builder.finish().close();
    }
  }

  @Test
  void aBuildThatIsCancelledBeforehandDoesNotBegin() {
    try (Builder builder = Fixtures.large()) {
      builder.cancel();
      refused(Status.CANCELLED, "the build was cancelled", builder::plan);
      builder.plan();
    }
  }
}
