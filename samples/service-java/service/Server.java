// SPDX-License-Identifier: Apache-2.0
package service;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import sun.misc.Signal;
import sun.misc.SignalHandler;

/**
 * A recommendation service, to copy from: README.md.
 *
 * <pre>java -jar service.jar --model MODEL --index INDEX [--listen HOST:PORT] [--offsets LIST] ...</pre>
 */
public final class Server {
  private static final List<String> ENDING = List.of("TERM", "INT"); // signals
  private static final Duration CLOSE_TIME = Duration.ofSeconds(1); // of closing, where that of draining is over

  private final Front front;
  private final Listener listener;
  private final CompletableFuture<Integer> status = new CompletableFuture<>(); // of the process

  /** Listens; the model and the index are opened meanwhile. */
  private Server(Front front) throws Exception {
    this.front = front;
    listener = new Listener(front);
    Signal.handle(new Signal("HUP"), signal -> reload());
    for (String name : ENDING) {
      Signal.handle(new Signal(name), signal -> end());
    }
    front.events.info("listening", "address", listener.address());
    start(this::open, "opening");
  }

  private static Thread start(Runnable work, String name) {
    Thread thread = new Thread(work, name);
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  private void open() {
    try {
      front.open(new Service(front));
      front.events.info("ready", "version", front.service().versions.version());
    } catch (Throwable e) { // also where the native part cannot be loaded
      front.events.failed(String.valueOf(e.getMessage()));
      if (!front.isDraining()) {
        status.complete(1);
      }
    }
  }

  private void reload() {
    if (front.service() != null) {
      try {
        front.service().reload();
      } catch (RuntimeException e) {
        // The log has it.
      }
    }
  }

  /** Answers what comes, and closes each connection with its answer, until there has been none for a time. */
  private void end() {
    for (String name : ENDING) {
      Signal.handle(new Signal(name), SignalHandler.SIG_DFL); // a second one ends the process at once
    }
    long end = System.nanoTime() + front.options.drain.toNanos();
    front.drain();
    front.events.info("draining");
    try {
      if (!listener.isQuiet(front.options.quiet, front.options.drain)) {
        front.events.warn("dropped", "requests", front.running(), "connections", listener.open());
      }
      close(Duration.ofNanos(end - System.nanoTime()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    front.events.info("ended");
    status.complete(0);
  }

  /** Waits for so long, and for a moment at least: a reload of a file that nobody writes ends with the process. */
  private void close(Duration most) throws InterruptedException {
    listener.close();
    if (front.service() != null) {
      Duration time = most.compareTo(CLOSE_TIME) < 0 ? CLOSE_TIME : most;
      start(front.service()::close, "closing").join(time.toMillis());
    }
  }

  /** Serves until a signal ends it: 0; 1: it cannot be served; 2: of the options. */
  public static void main(String[] arguments) {
    try {
      Options options = new Options(arguments);
      Events events = new Events(options.jsonLog);
      events.takeLogs();
      try {
        System.exit(new Server(new Front(options, events)).status.join());
      } catch (Exception e) {
        events.failed(e.getMessage());
        System.exit(1);
      }
    } catch (IllegalArgumentException e) {
      System.err.println(e.getMessage());
      System.exit(2);
    }
  }
}
