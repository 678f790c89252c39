// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static io.sidbeam.LivePairs.BASE;
import static io.sidbeam.LivePairs.draw;
import static io.sidbeam.LivePairs.listed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.IntBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Live catalogues: what they publish is what an index of the live pairs finds. */
class CatalogTest {
  private static void comesAndGoes(Catalog catalog) {
    Index first = catalog.snapshot();
    LivePairs more = draw(20, 2);
    catalog.add(more.pairs());
    assertEquals(1, catalog.info().changes());
    assertEquals(2, catalog.publish());
    assertEquals(2, catalog.publish()); // nothing to publish
    LivePairs pairs = BASE.and(more);
    pairs.check(catalog);

    Set<Long> gone = Set.copyOf(new ArrayList<>(pairs.idSet()).subList(0, 10));
    TreeSet<Long> asked = new TreeSet<>(gone);
    asked.addAll(List.of(1000L, 1001L));
    assertEquals(2, catalog.remove(listed(asked)));
    LivePairs again = BASE.and(Map.of());
    again.keySet().removeIf(pair -> !pair.get(2).equals(BASE.idSet().first()));
    catalog.add(again.pairs()); // comes back
    pairs = pairs.without(gone).and(again);
    LivePairs updated = new LivePairs();
    updated.put(pairs.keySet().iterator().next(), 8L);
    catalog.add(updated.pairs());
    pairs = pairs.and(updated);
    assertEquals(3, catalog.publish());
    pairs.check(catalog);
    BASE.check(first);
    first.close();
    try (Index old = catalog.snapshot(1)) {
      BASE.check(old);
    }

    catalog.add(more.pairs());
    catalog.discard();
    assertEquals(3, catalog.publish());
    catalog.add(more.pairs());
    assertEquals(4, catalog.rollback(1));
    BASE.check(catalog);
    List<VersionInfo> versions = catalog.versions();
    assertEquals(List.of(1L, 2L, 3L, 4L), versions.stream().map(VersionInfo::version).toList());
    assertEquals(List.of(0L, 0L, 0L, 1L), versions.stream().map(VersionInfo::backTo).toList());
    assertEquals(BASE.size(), versions.get(3).items());
  }

  @Test
  void itemsComeAndGoAndVersionsStay(@TempDir Path folder) {
    for (Path where : new Path[] {null, folder.resolve("live")}) {
      try (Catalog catalog = LivePairs.catalog(where, new CatalogConfig())) {
        comesAndGoes(catalog);
      }
    }
  }

  @Test
  void namesLengthsPrioritiesAndBuffers() {
    try (Builder builder = new Builder(new BuilderConfig(4, 4).idType(IdType.STRING).variableLength(true))) {
      builder.addNamed(new int[] {0, 1, 2, 2}, null, List.of("a", "b"), null);
      try (Index base = builder.finish(); Catalog catalog = Catalog.create(base)) {
        catalog.add(new Pairs(Buffers.ints(new int[] {1, 3, 3, 9})).lengths(Buffers.ints(new int[] {2, 1}))
            .names(List.of("c", "ß")).priorities(Buffers.longs(new long[] {1, 2})));
        refused(Status.INVALID_ARGUMENT, "names is null, expected the names of 1 items",
            () -> catalog.add(new Pairs(0, 1)));
        refused(Status.INVALID_ARGUMENT, "ids is given, expected names, since ids of the catalogue are strings",
            () -> catalog.add(new Pairs(0, 1).ids(1)));
        refused(Status.INVALID_ARGUMENT, "names has 1 elements, expected 2",
            () -> catalog.add(new Pairs(0, 1, 0, 2).names(List.of("e"))));
        refused(Status.INVALID_ARGUMENT, "names has 2 elements, expected 1",
            () -> catalog.add(new Pairs(0, 1).names(List.of("e", "f"))));
        assertEquals(1, catalog.remove(ItemList.ofNames("a", "x")));
        assertEquals(0, catalog.remove(ItemList.ofNames()));
        Index index = catalog.snapshot(catalog.publish());
        catalog.close();
        assertEquals(List.of("a", "b", "c", "ß"), index.itemNames(0, 1, 2, 3));
        IndexInfo info = index.info();
        assertEquals(List.of(2L, 1L, 3L), List.of(info.version(), info.generation(), info.liveItems()));
        index.close();
      }
    }
  }

  @Test
  void buffersAreReadByTheCall() {
    try (Catalog catalog = LivePairs.catalog(null, new CatalogConfig())) {
      IntBuffer codes = Buffers.ints(new int[] {0, 1, 5, 4});
      Pairs pairs = new Pairs(codes).ids(1000);
      refused(Status.INVALID_ARGUMENT, "ids has 1 elements, expected 2", () -> catalog.add(pairs));
      codes.position(2);
      catalog.add(pairs);
      LivePairs added = new LivePairs();
      added.put(List.of(5L, 4L, 1000L), 0L);
      try (Index index = catalog.snapshot(catalog.publish()); Index expected = BASE.and(added).index()) {
        assertEquals(BASE.size() + 1, index.info().liveItems());
        assertEquals(LivePairs.found(expected, "true"), LivePairs.found(index, "true"));
      }
    }
  }

  @Test
  void versionsThatAreTooOldGo() {
    CatalogConfig config = new CatalogConfig().keepVersions(1L << 40).keepAge(Duration.ofNanos(1));
    try (Catalog catalog = LivePairs.catalog(null, config)) {
      for (int i = 0; i < 1000 && catalog.info().oldestVersion() == 1; i++) { // 1 ms is the least age
        catalog.add(new Pairs(5, 4).ids(1000 + i));
        catalog.publish();
      }
      assertTrue(catalog.versions().get(0).version() > 1);
      refused(Status.INVALID_ARGUMENT, "version is 1, expected one of those that are kept", () -> catalog.rollback(1));
    }
  }

  @Test
  void filtersMoveToOtherVersions() {
    try (Catalog catalog = LivePairs.catalog(null, new CatalogConfig()); Index base = catalog.snapshot();
        Filter cheap = Filter.parse(base, "price<5")) {
      catalog.add(draw(20, 2).pairs());
      try (Index index = catalog.snapshot(catalog.publish()); Filter moved = cheap.on(index);
          Filter fresh = Filter.parse(index, "price<5")) {
        assertEquals(fresh.rows(), moved.rows());
        refused(Status.INVALID_ARGUMENT, "index is null", () -> cheap.on(null));
      }
    }
  }

  @Test
  void tablesOfArrow() {
    try (Builder builder = new Builder(new BuilderConfig(4, 3).idType(IdType.STRING))) {
      builder.addNamed(new int[] {0, 0}, null, List.of("z"), null);
      try (Index base = builder.finish(); Catalog catalog = Catalog.create(base)) {
        assertEquals(3, catalog.addArrow(ArrowSpecimen.stream(false), new ArrowColumns()));
        refused(Status.INVALID_ARGUMENT, "column 'sid', row 2, level 1: code 9, expected 0 to 2",
            () -> catalog.addArrow(ArrowSpecimen.stream(true), new ArrowColumns()));
        catalog.publish();
        assertEquals(4, catalog.info().items());
        catalog.close();
        refused(Status.BAD_STATE, "catalogue is closed",
            () -> catalog.addArrow(ArrowSpecimen.stream(false), new ArrowColumns()));
      }
    }
    assertEquals(0, ArrowSpecimen.alive());
  }

  @Test
  void threadsSearchWhileAnotherPublishes() throws Exception {
    LivePairs extra = draw(30, 7).without(BASE.idSet());
    List<TreeSet<String>> expected = new ArrayList<>();
    try (Index all = BASE.and(extra).index(); Index base = BASE.index()) {
      expected.add(LivePairs.found(all, "true"));
      expected.add(LivePairs.found(base, "true"));
    }
    ExecutorService pool = Executors.newFixedThreadPool(3);
    AtomicBoolean stop = new AtomicBoolean();
    try (Catalog catalog = LivePairs.catalog(null, new CatalogConfig())) {
      List<Future<?>> searches = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        searches.add(pool.submit(() -> {
          while (!stop.get()) {
            try (Index index = catalog.snapshot()) {
              assertEquals(expected.get((int) (index.info().version() % 2)), LivePairs.found(index, "true"));
            }
          }
        }));
      }
      for (int i = 0; i < 10; i++) {
        catalog.add(extra.pairs());
        catalog.publish();
        catalog.remove(listed(extra.idSet()));
        catalog.publish();
      }
      stop.set(true);
      for (Future<?> search : searches) {
        search.get();
      }
      assertEquals(21, catalog.info().version());
    } finally {
      stop.set(true);
      pool.shutdown();
    }
  }

  @Test
  void wrongArgumentsSayWhatIsExpected() {
    try (Catalog catalog = LivePairs.catalog(null, new CatalogConfig()); Index version = catalog.snapshot();
        Index base = BASE.index()) {
      refused(Status.INVALID_ARGUMENT, "row 0, level 1: code 5, expected 0 to 4",
          () -> catalog.add(new Pairs(0, 5).ids(1)));
      refused(Status.INVALID_ARGUMENT, "codes has 1 elements, expected a multiple of the 2 levels",
          () -> catalog.add(new Pairs(0).ids(1)));
      refused(Status.INVALID_ARGUMENT, "ids is null, expected the ids of 1 items", () -> catalog.add(new Pairs(0, 1)));
      refused(Status.INVALID_ARGUMENT, "ids has 1 elements, expected 2",
          () -> catalog.add(new Pairs(0, 1, 0, 2).ids(1)));
      refused(Status.INVALID_ARGUMENT, "ids has 2 elements, expected 1", () -> catalog.add(new Pairs(0, 1).ids(1, 2)));
      refused(Status.INVALID_ARGUMENT, "lengths has 2 elements, expected 1",
          () -> catalog.add(new Pairs(0, 1).ids(1).lengths(2, 2)));
      refused(Status.INVALID_ARGUMENT, "priorities has 2 elements, expected 1",
          () -> catalog.add(new Pairs(0, 1).ids(1).priorities(5, 5)));
      refused(Status.INVALID_ARGUMENT, "names is given, expected ids, since ids of the catalogue are integers",
          () -> catalog.add(new Pairs(0, 1).names(List.of("a"))));
      refused(Status.INVALID_ARGUMENT, "no attribute 'size' was declared",
          () -> catalog.add(new Pairs(0, 1).ids(1).attribute("size", AttributeValues.of(1L))));
      refused(Status.INVALID_ARGUMENT, "attributes have 2 values, expected 1, one per pair",
          () -> catalog.add(new Pairs(0, 1).ids(1).attribute("price", AttributeValues.of(1L, 2L))));
      refused(Status.INVALID_ARGUMENT, "name holds a NUL character",
          () -> catalog.add(new Pairs(0, 1).ids(1).attribute("a\0", AttributeValues.of(1L))));
      refused(Status.INVALID_ARGUMENT, "pairs is null", () -> catalog.add(null));
      refused(Status.INVALID_ARGUMENT, "items lists item rows, expected ids or names",
          () -> catalog.remove(ItemList.ofRows(1)));
      refused(Status.INVALID_ARGUMENT, "items gives names, expected numbers",
          () -> catalog.remove(ItemList.ofNames("a")));
      refused(Status.INVALID_ARGUMENT, "threads is -1, expected 0..1024",
          () -> catalog.compact(new CompactConfig().threads(-1)));
      refused(Status.INVALID_ARGUMENT, "version is 7, expected one of those that are kept, 1 to 1",
          () -> catalog.snapshot(7));
      refused(Status.INVALID_ARGUMENT, "version is -1, expected one of those", () -> catalog.rollback(-1));
      refused(Status.INVALID_ARGUMENT, "wait is PT-1S, expected from 0", () -> catalog.refresh(Duration.ofSeconds(-1)));
      refused(Status.INVALID_ARGUMENT, "the base is a version of a live catalogue", () -> Catalog.create(version));
      refused(Status.INVALID_ARGUMENT, "base is null", () -> Catalog.create(null));
      refused(Status.INVALID_ARGUMENT, "folder is null", () -> Catalog.create(base, null));
      refused(Status.INVALID_ARGUMENT, "folder is \"\", expected the path of one",
          () -> Catalog.create(base, Path.of("")));
      refused(Status.INVALID_ARGUMENT, "keep_versions is -1, expected at least 0",
          () -> Catalog.create(base, null, new CatalogConfig().keepVersions(-1)));
      refused(Status.INVALID_ARGUMENT, "syncInterval is PT-1S, expected from 0",
          () -> new CatalogConfig().syncInterval(Duration.ofSeconds(-1)));
      assertEquals(0, catalog.info().changes());
    }
    try (Index hashed = Fixtures.index(Kind.HASH)) {
      refused(Status.MISSING_SECTION, "the index has no trie", () -> Catalog.create(hashed));
    }
  }

  @Test
  void versionsOutliveTheirCatalogue() {
    Catalog catalog = LivePairs.catalog(null, new CatalogConfig());
    Index index = catalog.snapshot();
    catalog.close();
    catalog.close();
    assertTrue(catalog.isClosed());
    List<Runnable> uses = List.of(catalog::publish, catalog::info, catalog::versions, catalog::snapshot,
        catalog::compact, catalog::refresh, catalog::sync, catalog::discard, () -> catalog.rollback(1),
        () -> catalog.refresh(Duration.ofMinutes(1)), () -> catalog.remove(ItemList.ofIds(1)),
        () -> catalog.add(new Pairs(0, 1).ids(1)));
    for (Runnable use : uses) {
      refused(Status.BAD_STATE, "catalogue is closed", use::run);
    }
    System.gc();
    BASE.check(index);
    index.close();
  }

  private static long compacted() {
    return LivePairs.catalog(null, new CatalogConfig()).compact(); // nothing else refers to the catalogue
  }

  @Test
  void aCatalogueIsKeptWhileItsCallsRun() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try {
      Future<?> collecting = pool.submit(() -> {
        while (true) { // until it is interrupted
          Fixtures.collect();
        }
      });
      for (int i = 0; i < 5; i++) {
        assertEquals(2, pool.submit(CatalogTest::compacted).get());
      }
      collecting.cancel(true);
    } finally {
      pool.shutdownNow();
    }
  }
}
