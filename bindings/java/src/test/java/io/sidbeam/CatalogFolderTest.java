// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static io.sidbeam.LivePairs.BASE;
import static io.sidbeam.LivePairs.draw;
import static io.sidbeam.LivePairs.listed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Live catalogues in folders, others that follow them, and compactions. */
class CatalogFolderTest {
  /** Bytes per second of a compaction that takes its time, and of one that takes a minute unless it is cancelled. */
  private static final int RATE = 4_000_000;
  private static final int SLOW = RATE / 20;

  @TempDir
  Path temporary;
  private Path folder;

  @BeforeEach
  void chooseFolder() {
    folder = temporary.resolve("live");
  }

  private Catalog create() {
    return LivePairs.catalog(folder, new CatalogConfig());
  }

  private List<String> files() throws Exception {
    try (Stream<Path> all = Files.list(folder)) {
      return all.map(Path::toString).sorted().toList();
    }
  }

  @Test
  void aFolderOutlivesItsWriterAndHasOneAtATime() {
    LivePairs more = draw(20, 2);
    try (Catalog catalog = create()) {
      catalog.add(more.pairs());
      catalog.publish();
      refused(Status.BAD_STATE, "has another writer: process " + ProcessHandle.current().pid() + " on ",
          () -> Catalog.open(folder));
    }
    try (Catalog catalog = Catalog.open(folder, new CatalogConfig().sync(Sync.HOST).keepAge(Duration.ofHours(1)))) {
      BASE.and(more).check(catalog);
      catalog.remove(listed(more.idSet()));
      assertEquals(3, catalog.publish());
      assertTrue(catalog.info().unsyncedBytes() > 0);
      catalog.sync();
      CatalogInfo info = catalog.info();
      assertEquals(0, info.unsyncedBytes());
      assertFalse(info.follows() || info.logFailed());
      assertTrue(Duration.between(info.published(), Instant.now()).abs().toHours() < 1, info.published().toString());
    }
    refused(Status.INVALID_ARGUMENT, "holds a catalogue already: open it", this::create);
    refused(Status.IO_ERROR, "it holds no catalogue", () -> Catalog.open(temporary));
  }

  @Test
  void followersSeeWhatIsPublished() throws Exception {
    LivePairs more = draw(20, 2);
    try (Catalog writer = create();
        Catalog follower = Catalog.follow(folder, new CatalogConfig().keepVersions(2))) {
      writer.add(more.pairs());
      writer.publish();
      assertEquals(1, follower.info().version());
      assertEquals(2, follower.refresh());
      assertTrue(follower.info().follows());
      BASE.and(more).check(follower);
      long begin = System.nanoTime();
      assertEquals(2, follower.refresh(Duration.ofMillis(250)));
      assertTrue(System.nanoTime() - begin >= 250_000_000);
      CompletableFuture<Long> published = CompletableFuture.supplyAsync(() -> {
        writer.remove(listed(more.idSet()));
        return writer.publish();
      }, CompletableFuture.delayedExecutor(150, java.util.concurrent.TimeUnit.MILLISECONDS));
      assertEquals(3, follower.refresh(Duration.ofMinutes(1)));
      assertEquals(3, published.get());
      assertEquals(List.of(2L, 3L), follower.versions().stream().map(VersionInfo::version).toList());
      refused(Status.BAD_STATE, "opened to follow it, expected one opened to write", follower::publish);
      refused(Status.BAD_STATE, "opened to write it, expected one opened to follow", writer::refresh);
    }
  }

  @Test
  void anInterruptOrACloseEndsAWait() throws Exception {
    create().close();
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try (Catalog follower = Catalog.follow(folder)) {
      Thread.currentThread().interrupt();
      refused(Status.CANCELLED, "the wait for a version was interrupted", () -> follower.refresh(Duration.ofHours(1)));
      assertTrue(Thread.interrupted());
      Future<SidbeamException> waiting = pool.submit(() -> assertThrows(SidbeamException.class,
          () -> follower.refresh(Duration.ofHours(1))));
      Thread.sleep(50);
      follower.close();
      assertEquals("catalogue is closed", waiting.get().getMessage());
    } finally {
      pool.shutdown();
    }
  }

  @Test
  void aCompactionIsWhatABuilderMakes() {
    LivePairs more = draw(20, 2);
    for (Path where : new Path[] {null, folder}) {
      try (Catalog catalog = LivePairs.catalog(where, new CatalogConfig())) {
        catalog.add(more.pairs());
        catalog.publish();
        assertTrue(catalog.info().compactSoon());
        LivePairs waiting = draw(2, 8);
        catalog.add(waiting.pairs());
        assertEquals(3, catalog.compact());
        CatalogInfo info = catalog.info();
        assertEquals(List.of(2L, 0L, 0L), List.of(info.generation(), info.added(), info.removed()));
        assertEquals(BASE.and(more).size(), info.baseItems());
        assertFalse(info.compactSoon());
        BASE.and(more).check(catalog);
        assertEquals(4, catalog.publish());
        BASE.and(more).and(waiting).check(catalog);
      }
    }
  }

  /** Its compaction takes a second or more at RATE. */
  private Catalog slow() {
    try (Builder builder = new Builder(new BuilderConfig(256, 256, 256))) {
      builder.add(new Random(1).ints(3L << 18, 0, 256).toArray());
      try (Index base = builder.finish()) {
        return Catalog.create(base, folder, new CatalogConfig().sync(Sync.HOST));
      }
    }
  }

  @Test
  void whatTheListenerThrowsOrAnInterruptEndsACompaction() throws Exception {
    try (Catalog catalog = slow()) {
      List<String> before = files();
      Thread caller = Thread.currentThread();
      EnumSet<Phase> phases = EnumSet.noneOf(Phase.class);
      CompactConfig config = new CompactConfig().bytesPerSecond(SLOW);
      List<String> refusals = new ArrayList<>();
      assertEquals("mine", assertThrows(IllegalStateException.class,
          () -> catalog.compact(config.progress((phase, done, total) -> {
            assertSame(caller, Thread.currentThread());
            phases.add(phase);
            if (done > 0) {
              refusals.add(assertThrows(SidbeamException.class, catalog::compact).getMessage());
              throw new IllegalStateException("mine");
            }
          }))).getMessage());
      assertEquals(List.of("the catalogue is being compacted already"), refusals);
      assertTrue(phases.contains(Phase.GATHER), phases.toString());
      assertEquals("mine too", assertThrows(AssertionError.class,
          () -> catalog.compact(config.progress((phase, done, total) -> {
            throw new AssertionError("mine too");
          }))).getMessage());
      refused(Status.CANCELLED, "was cancelled by its progress callback",
          () -> catalog.compact(config.progress((phase, done, total) -> Thread.currentThread().interrupt())));
      assertTrue(Thread.interrupted());
      assertEquals(before, files());
      assertEquals(2, catalog.compact());
    }
  }

  @Test
  void othersPublishAndCloseWhileOneCompacts() throws Exception {
    ExecutorService pool = Executors.newSingleThreadExecutor();
    CountDownLatch began = new CountDownLatch(1);
    try (Catalog catalog = slow()) {
      CompactConfig config = new CompactConfig().bytesPerSecond(RATE).progress((phase, done, total) -> {
        if (done > 0) { // it is inside: the close lets it finish
          began.countDown();
        }
      });
      Future<Long> compacting = pool.submit(() -> {
        try {
          return catalog.compact(config);
        } finally {
          began.countDown(); // it was over before the listener heard of it
        }
      });
      began.await();
      for (long id = 1; id <= 5; id++) {
        catalog.remove(ItemList.ofIds(id));
        catalog.publish();
      }
      catalog.close();
      assertTrue(compacting.get() > 1);
    } finally {
      pool.shutdown();
    }
    try (Catalog catalog = Catalog.open(folder)) {
      CatalogInfo info = catalog.info();
      assertEquals(2, info.generation());
      assertTrue(info.items() < 1 << 18, "" + info.items());
    }
  }
}
