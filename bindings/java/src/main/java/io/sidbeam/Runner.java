// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * Runs requests of a model under a constraint: history tokens in, items out. Any threads may use it at once.
 *
 * <pre>
 * try (Runner runner = new Runner(new RunnerConfig(model, index).beams(50).vocabulary(vocabulary))) {
 *   Result result = runner.run(new Request(history));
 *   long[] items = index.itemIds(result.itemRows());
 * }
 * </pre>
 *
 * <p>All memory of the lanes is taken when it is made. The library's callbacks do not enter the virtual machine: they
 * wait in a queue for a daemon thread of the runner's, on which futures are completed too.
 */
public final class Runner extends NativeObject {
  private final Desk desk;
  private final Constrainer constraint;

  /**
   * Makes a runner, its lanes' memory and their threads. Fails with {@link Status#INVALID_ARGUMENT},
   * {@link Status#UNSUPPORTED}, {@link Status#MISSING_SECTION}, {@link Status#NO_DEVICE} or
   * {@link Status#OUT_OF_MEMORY}.
   *
   * @param config read, not kept
   */
  public Runner(RunnerConfig config) {
    super(create(Buffers.given(config, "config")));
    constraint = config.constraint;
    int[] codes = Constraint.of(constraint).info().codes();
    desk = new Desk(Native.flat_runner_events(handle), config, codes);
  }

  private static long create(RunnerConfig config) {
    Runtime runtime = Runtime.orDefault(config.runtime);
    Constraint held = Constraint.of(config.constraint);
    Vocabulary v = config.vocabulary;
    try {
      return Native.flat_runner_create(runtime.handle, config.model.handle,
          config.draft == null ? 0 : config.draft.handle, config.head == null ? 0 : config.head.handle,
          held.handle, config.numbers, config.inverseTemperature, config.softCap, v.offsets, v.maps, v.mapCodes,
          v.endColumn, config.beginTokens, config.placeholders);
    } finally {
      Reference.reachabilityFence(runtime);
      Reference.reachabilityFence(held);
      Reference.reachabilityFence(config);
      Log.drain();
    }
  }

  /**
   * Runs a request on this thread, as soon as it is its turn and a lane is free. Fails with
   * {@link Status#INVALID_ARGUMENT} (a token out of the vocabulary, an empty prompt or one too long; NaN or +inf in
   * logits), {@link Status#QUEUE_FULL}, {@link Status#DEADLINE_EXCEEDED}, {@link Status#CANCELLED},
   * {@link Status#BAD_STATE} (closed, or called within a callback), or what adjust threw. Interrupts do not end it:
   * {@link #submit} gives a future that can be cancelled.
   *
   * @param request not kept
   * @return what it found
   */
  public Result run(Request request) {
    refuseWithin("run");
    Constrainer under = request.constraint == null ? constraint : request.constraint;
    Desk.Entry entry = new Desk.Entry(request.context, under, null, null);
    long tag = desk.admit(entry);
    long[] numbers = new long[Native.FLAT_RESULT_COUNT];
    Constraint own = constraintOf(request);
    try {
      Native.flat_runner_run(handle, tag, request.tokens, request.group, request.beams, request.widths,
          request.priority, own == null ? 0 : own.handle, request.deadlineUs, request.seed,
          request.samplingRequest, numbers);
      return Result.take(numbers, under);
    } catch (SidbeamException e) {
      throw unchecked(entry.failure(e));
    } finally {
      desk.forget(tag);
      Reference.reachabilityFence(own);
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Takes a request and returns before it is done. Cancelling the future ends the request: a waiting one now, a running
   * one at its next level. The future fails as {@link #run} does; what depends on it runs on a thread of the runner's,
   * unless it is asked for elsewhere (thenApplyAsync). Fails itself with {@link Status#INVALID_ARGUMENT},
   * {@link Status#QUEUE_FULL}, {@link Status#DEADLINE_EXCEEDED} (a negative deadline) or {@link Status#BAD_STATE}
   * (closed, or without lane threads).
   *
   * @param request not kept
   * @return its result, to be
   */
  public CompletableFuture<Result> submit(Request request) {
    Pending future = new Pending();
    Constrainer under = request.constraint == null ? constraint : request.constraint;
    Constraint own = constraintOf(request);
    long tag = desk.admit(new Desk.Entry(request.context, under, future, this));
    boolean taken = false;
    try {
      future.number = Native.flat_runner_submit(handle, tag, request.tokens, request.group, request.beams,
          request.widths, request.priority, own == null ? 0 : own.handle, request.deadlineUs,
          request.seed, request.samplingRequest);
      taken = true;
      return future;
    } finally {
      if (!taken) {
        desk.forget(tag);
      }
      Reference.reachabilityFence(own);
      Reference.reachabilityFence(this);
    }
  }

  private static Constraint constraintOf(Request request) {
    return request.constraint == null ? null : Constraint.of(request.constraint);
  }

  private static RuntimeException unchecked(Throwable thrown) {
    if (thrown instanceof Error error) {
      throw error;
    }
    return thrown instanceof RuntimeException exception ? exception : new CompletionException(thrown);
  }

  /** A future whose cancel ends the request too. */
  private final class Pending extends CompletableFuture<Result> {
    private volatile long number;

    @Override
    public boolean cancel(boolean mayInterruptIfRunning) {
      boolean cancelled = super.cancel(mayInterruptIfRunning);
      if (cancelled) {
        try {
          Runner.this.cancel(number);
        } catch (SidbeamException e) {
          // The runner is closed: it has cancelled the request, or is doing so.
        }
      }
      return cancelled;
    }
  }

  /**
   * Ends a request with {@link Status#CANCELLED}: a waiting one now, a running one at its next level. One that is done
   * stays so. Fails with {@link Status#INVALID_ARGUMENT} for a number that was never given.
   *
   * @param request {@link Result#request}, {@link Level#request}
   */
  public void cancel(long request) {
    try {
      Native.flat_runner_cancel(handle, request);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Waits until no request waits or runs.
   *
   * @param timeout at most; null: for ever
   * @return whether that is so
   */
  public boolean drain(Duration timeout) {
    refuseWithin("drain");
    try {
      return Native.flat_runner_drain(handle, timeout == null ? 0 : Math.max(timeout.toNanos() / 1000, 1)) != 0;
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Counts, lane use and percentiles.
   *
   * @return a snapshot
   */
  public RunnerStats stats() {
    long[] numbers = new long[Native.FLAT_RUNNER_STATS_COUNT];
    try {
      Native.flat_runner_get_stats(handle, numbers);
    } finally {
      Reference.reachabilityFence(this);
    }
    return RunnerStats.of(numbers);
  }

  /**
   * Takes no more requests, ends the waiting ones with {@link Status#CANCELLED} and waits for the running ones.
   * Afterwards all futures are done and nothing is called. Closing again does nothing. Fails with
   * {@link Status#BAD_STATE} within a callback of the runner.
   */
  @Override
  public void close() {
    refuseWithin("close");
    try {
      Native.flat_runner_close(handle);
      desk.join();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  private void refuseWithin(String what) {
    if (desk.isInside()) {
      throw new SidbeamException(Status.BAD_STATE,
          what + " is called within a callback of the runner, whose end it would wait for");
    }
  }
}
