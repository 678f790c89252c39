// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.LONG;
import static io.sidbeam.Fixtures.collectUntil;
import static io.sidbeam.Fixtures.refused;
import static io.sidbeam.Fixtures.row;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Close, collection and other threads, at any time. */
class LifetimeTest {
  @Test
  void closingTwiceDoesNothingAndLaterCallsSayClosed() {
    Index index = Fixtures.index();
    Session session = new Session(new SessionConfig(index));
    Builder builder = new Builder(new BuilderConfig(4));
    Runtime runtime = new Runtime(new RuntimeConfig());
    Constraint constraint = new Constraint(index);
    List<NativeObject> all = List.of(index, session, builder, runtime, constraint);
    assertFalse(session.isClosed());
    all.forEach(NativeObject::close);
    all.forEach(NativeObject::close);
    assertTrue(session.isClosed());
    refused(Status.BAD_STATE, "index is closed", index::info);
    refused(Status.BAD_STATE, "index is closed", () -> new Session(new SessionConfig(index)));
    refused(Status.BAD_STATE, "index is closed", () -> new Constraint(index));
    refused(Status.BAD_STATE, "constraint is closed", () -> new Session(new SessionConfig(constraint)));
    refused(Status.BAD_STATE, "session is closed", session::start);
    refused(Status.BAD_STATE, "session is closed", () -> session.step(row(0)));
    refused(Status.BAD_STATE, "session is closed", session::beams);
    refused(Status.BAD_STATE, "session is closed", session::items);
    refused(Status.BAD_STATE, "session is closed", session::stats);
    refused(Status.BAD_STATE, "builder is closed", () -> builder.add(new int[1]));
    refused(Status.BAD_STATE, "builder is closed", builder::finish);
    refused(Status.BAD_STATE, "runtime is closed", () -> new Builder(new BuilderConfig(4).runtime(runtime)));
  }

  @Test
  void whatIsUsedMayBeClosedBeforeItsUsers() {
    Index index = Fixtures.index();
    try (Session session = new Session(new SessionConfig(index).beams(2));
        ConstraintSet set = new ConstraintSet(new ConstraintSetConfig(index))) {
      index.close();
      session.start();
      session.step(row(0, 0, 0, 5));
      assertEquals(3, session.beams().code(0, 0));
      set.bitmask(null, Buffers.longs(1), 1, Buffers.ints(1));
    }
  }

  /** Runs call again and again on a thread of its own until it is refused; gives the refusal. */
  private static Future<SidbeamException> untilRefused(ExecutorService pool, CountDownLatch running, Callable<?> call) {
    return pool.submit(() -> {
      while (true) {
        try {
          call.call();
        } catch (SidbeamException e) {
          return e;
        }
        running.countDown();
      }
    });
  }

  @Test
  void closeWhileACallRunsWaitsForNobodyAndBreaksNothing() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(4);
    try (Index index = Fixtures.index()) {
      for (int round = 0; round < 300; round++) {
        Session session = new Session(new SessionConfig(index).slots(64).beams(2));
        Index shared = Fixtures.index();
        Step step = new Step(Rows.strided(Buffers.floats(4), 64, 2, 4, Rows.BROADCAST, Rows.BROADCAST));
        CountDownLatch running = new CountDownLatch(3);
        Future<SidbeamException> stepping = untilRefused(pool, running, () -> {
          session.start();
          session.step(step);
          return null;
        });
        Callable<?> look = () -> shared.findSid(1, 1);
        List<Future<SidbeamException>> looking =
            List.of(untilRefused(pool, running, look), untilRefused(pool, running, look));
        running.await();
        session.close();
        shared.close();
        assertEquals("session is closed", stepping.get().getMessage());
        for (Future<SidbeamException> one : looking) {
          assertEquals("index is closed", one.get().getMessage());
        }
      }
    } finally {
      pool.shutdown();
    }
  }

  @Test
  void closeWhileABuildRunsLetsItFinish() throws Exception {
    ExecutorService pool = Executors.newSingleThreadExecutor();
    Builder builder = Fixtures.large();
    try {
      Future<?> closing = pool.submit(() -> {
        long[] progress = new long[3];
        while (progress[1] == 0 && !Thread.currentThread().isInterrupted()) { // until it is inside
          Native.flat_get_progress(builder.handle, progress);
        }
        builder.close();
      });
      try (Index index = builder.finish()) {
        assertEquals(2_000_000, index.info().items());
      }
      closing.get();
    } finally {
      pool.shutdownNow();
    }
    refused(Status.BAD_STATE, "builder is closed", builder::finish);
  }

  @Test
  void aSecondThreadIsToldThatASessionIsInUse() throws Exception {
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try (Index index = Fixtures.index(); Session session = new Session(new SessionConfig(index).slots(4096).beams(2))) {
      session.start();
      Step step = new Step(Rows.strided(Buffers.floats(4), 4096, 2, 4, Rows.BROADCAST, Rows.BROADCAST));
      CountDownLatch running = new CountDownLatch(1);
      Future<SidbeamException> stepping = untilRefused(pool, running, () -> {
        session.start();
        session.step(step);
        return null;
      });
      running.await();
      SidbeamException seen = assertTimeoutPreemptively(LONG, () -> {
        while (!stepping.isDone()) {
          try {
            session.stats();
          } catch (SidbeamException e) {
            return e;
          }
        }
        return stepping.get(); // it was the other thread that came second
      });
      assertEquals(Status.BAD_STATE, seen.status());
      assertEquals("session is in use by another thread", seen.getMessage());
      session.close();
      stepping.get();
    } finally {
      pool.shutdown();
    }
  }

  private static ByteBuffer bytes(Path folder) throws Exception {
    byte[] file = Files.readAllBytes(Fixtures.write(folder.resolve("a.sidx")));
    return Buffers.bytes(file.length).put(0, file);
  }

  /** Everything except a part of a view is closed and gone; the loan shows that the session is still there. */
  private static FloatBuffer partOfAView(ByteBuffer bytes) {
    try (Index index = Index.fromBuffer(bytes, new OpenConfig());
        Session session = new Session(new SessionConfig(index).beams(2))) {
      session.start();
      session.step(row(0, 0, 0, 5));
      return session.beams().scores().slice(0, 2).duplicate();
    }
  }

  @Test
  void aViewKeepsItsSessionsMemoryAfterCloseAndNoLonger(@TempDir Path folder) throws Exception {
    int lent = Loans.count();
    FloatBuffer part = partOfAView(bytes(folder));
    float first = part.get(0);
    for (int i = 0; i < 20; i++) {
      System.gc();
      try (Index index = Fixtures.index()) { // reuses freed memory
        new Session(new SessionConfig(index).slots(i + 1).beams(2)).close();
      }
      assertEquals(first, part.get(0));
      assertEquals(lent + 1, Loans.count());
    }
    java.lang.ref.Reference.reachabilityFence(part);
    part = null;
    collectUntil(lent);
  }

  private static List<NativeObject> opened(ByteBuffer bytes) {
    Index index = Index.fromBuffer(bytes, new OpenConfig());
    Session session = new Session(new SessionConfig(index));
    session.beams();
    return List.of(index, session, new ConstraintSet(new ConstraintSetConfig(index)));
  }

  @Test
  void whatIsForgottenIsGivenBack(@TempDir Path folder) throws Exception {
    int lent = Loans.count();
    ByteBuffer bytes = bytes(folder);
    List<NativeObject> all = new ArrayList<>();
    for (int i = 0; i < 10; i++) {
      all.addAll(opened(bytes));
    }
    assertEquals(lent + 10, Loans.count());
    java.lang.ref.Reference.reachabilityFence(all); // until here none was forgotten
    all = null;
    collectUntil(lent);
  }

  @Test
  void objectsAreKeptWhileTheirCallsRun() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try {
      Future<?> collecting = pool.submit(() -> {
        while (true) { // until it is interrupted
          Fixtures.collect();
        }
      });
      List<Future<Long>> done = new ArrayList<>();
      for (int i = 0; i < 60; i++) {
        done.add(pool.submit(() -> Fixtures.index().info().sids())); // nothing else refers to the index
      }
      for (Future<Long> one : done) {
        assertEquals(7, one.get());
      }
      collecting.cancel(true);
    } finally {
      pool.shutdownNow();
    }
  }
}
