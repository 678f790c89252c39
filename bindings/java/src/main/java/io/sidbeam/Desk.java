// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;

/**
 * Where a runner's events arrive (bindings/flat/events.h): daemon threads wait for them, complete futures and call
 * adjust. It does not know the runner, so that one that nobody needs can go; requests under way do.
 */
final class Desk {
  /** A request under way. */
  static final class Entry {
    final Object context;
    final Constrainer constraint;
    final CompletableFuture<Result> future;
    final Runner runner; // kept by what it still owes
    volatile Throwable raised; // by adjust

    Entry(Object context, Constrainer constraint, CompletableFuture<Result> future, Runner runner) {
      this.context = context;
      this.constraint = constraint;
      this.future = future;
      this.runner = runner;
    }

    /** What the caller gets to see: what his own adjust threw, if that ended the request. */
    Throwable failure(SidbeamException e) {
      return raised == null ? e : raised;
    }
  }

  private final long events;
  private final Consumer<Level> adjust;
  private final int[] codes;
  private final Map<Long, Entry> entries = new ConcurrentHashMap<>();
  private final AtomicLong last = new AtomicLong();
  private final Set<Thread> threads = ConcurrentHashMap.newKeySet();
  private final AtomicInteger serving;
  private final CountDownLatch ended;

  /** Owns the handle of the events. A lane has a thread, since it waits while adjust is called. */
  Desk(long events, RunnerConfig config, int[] codes) {
    this.events = events;
    this.adjust = config.adjust;
    this.codes = codes;
    int count = adjust == null ? 1 : (int) Math.max(config.numbers[Native.FLAT_RUNNER_LANES], 1);
    serving = new AtomicInteger(count);
    ended = new CountDownLatch(count);
    for (int i = 0; i < count; i++) {
      Thread thread = new Thread(this::serve, "sidbeam-runner-" + i);
      thread.setDaemon(true);
      threads.add(thread);
      thread.start();
    }
  }

  /** Whether this is within a callback. */
  boolean isInside() {
    return threads.contains(Thread.currentThread());
  }

  long admit(Entry entry) {
    long tag = last.incrementAndGet();
    entries.put(tag, entry);
    return tag;
  }

  Entry forget(long tag) {
    return entries.remove(tag);
  }

  /** Waits for the last event, whatever interrupts. */
  void join() {
    boolean interrupted = false;
    while (true) {
      try {
        ended.await();
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void serve() {
    try {
      while (true) {
        long[] numbers = new long[Native.FLAT_EVENT_COUNT];
        int kind = Native.flat_events_next(events, numbers);
        if (kind == Native.FLAT_EVENT_END) {
          return;
        }
        if (kind == Native.FLAT_EVENT_ADJUST) {
          answer(numbers);
        } else {
          finish(numbers);
        }
      }
    } finally {
      if (serving.decrementAndGet() == 0) {
        Native.flat_free(events);
      }
      ended.countDown();
    }
  }

  private void finish(long[] numbers) {
    Entry entry = forget(numbers[Native.FLAT_RESULT_TAG]);
    try {
      entry.future.complete(Result.take(numbers, entry.constraint));
    } catch (SidbeamException e) {
      entry.future.completeExceptionally(entry.failure(e));
    }
  }

  private void answer(long[] numbers) {
    Entry entry = entries.get(numbers[Native.FLAT_ADJUST_TAG]);
    int verdict = 1;
    try {
      Level level = new Level(numbers, entry.context, codes);
      adjust.accept(level);
      level.giveBack();
      verdict = 0;
    } catch (Throwable e) { // it belongs to the caller of the request, whatever it is
      entry.raised = e;
    } finally {
      Native.flat_adjust_answer(events, numbers[Native.FLAT_ADJUST_NUMBER], verdict);
    }
  }
}
