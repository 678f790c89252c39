// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.function.Consumer;
import java.util.function.IntConsumer;
import java.util.function.Supplier;

/**
 * A build on a thread of its own, so that the caller's thread can be interrupted and can report; C can do neither. (A
 * callback from C was rejected: it would run Java on one of the library's threads, inside a call.)
 */
final class Build<T> {
  private static final long REPORT_MILLIS = 100;

  private final Builder.Progress listener;
  private final Consumer<Builder.Progress> report;
  private final IntConsumer setCancelled;
  private final Thread worker;
  private T result;
  private RuntimeException failure;
  private Error error;

  Build(Supplier<T> call, Builder.Progress listener, Consumer<Builder.Progress> report, IntConsumer setCancelled) {
    this.listener = listener;
    this.report = report;
    this.setCancelled = setCancelled;
    worker = new Thread(() -> {
      try {
        result = call.get();
      } catch (RuntimeException e) {
        failure = e;
      } catch (Error e) {
        error = e;
      }
    }, "sidbeam-build");
    worker.setDaemon(true);
  }

  T run() {
    Throwable thrown = await();
    boolean cancelled = failure instanceof SidbeamException e && e.status() == Status.CANCELLED;
    if (cancelled || thrown != null) {
      setCancelled.accept(0);
    }
    if (error != null) {
      throw error;
    }
    if (thrown != null) {
      Build.<RuntimeException>rethrow(thrown);
    }
    if (failure != null) {
      throw (RuntimeException) failure.fillInStackTrace(); // the caller's stack, not the worker's run()
    }
    return result;
  }

  /** As it is: a listener that is written in another language may throw a checked exception. */
  @SuppressWarnings("unchecked")
  private static <E extends Throwable> void rethrow(Throwable thrown) throws E {
    throw (E) thrown;
  }

  /** Waits for the worker, whatever happens; returns what the listener threw. */
  private Throwable await() {
    boolean interrupted = false;
    Throwable thrown = null;
    worker.start();
    while (worker.isAlive()) {
      try {
        worker.join(listener == null || thrown != null ? 0 : REPORT_MILLIS);
        if (listener != null && thrown == null && worker.isAlive()) {
          report.accept(listener);
        }
      } catch (InterruptedException e) {
        interrupted = true;
        setCancelled.accept(1);
      } catch (Throwable e) {
        thrown = e;
        setCancelled.accept(1);
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return thrown;
  }
}
