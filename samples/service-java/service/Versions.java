// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonPrimitive;
import io.sidbeam.Catalog;
import io.sidbeam.CatalogConfig;
import io.sidbeam.Index;
import io.sidbeam.Verify;
import io.sidbeam.VersionInfo;
import java.nio.file.Files;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.stream.LongStream;

/**
 * Gives requests the current version of the index, and replaces it: by what its file holds by now, or by the newest
 * version of a live catalogue.
 */
final class Versions implements AutoCloseable {
  private static final Duration WAIT = Duration.ofSeconds(1);

  final Catalog live; // null: the index is a file
  private final Options options;
  private final Set<Serving> living = ConcurrentHashMap.newKeySet(); // also some that have just gone
  private volatile Serving current;
  private Thread follower; // null: nobody else writes the catalogue

  Versions(Options options) {
    this.options = options;
    boolean folder = Files.isDirectory(options.index);
    if (options.follow && !folder) {
      throw new IllegalArgumentException(options.index + " is no folder, expected that of a catalogue to follow");
    }
    CatalogConfig config = new CatalogConfig().keepVersions(options.keep).keepAge(options.keepAge)
        .residency(options.residency).verify(Verify.FULL);
    live = !folder ? null
        : options.follow ? Catalog.follow(options.index, config) : Catalog.open(options.index, config);
    try {
      serve(open());
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private void serve(Serving fresh) {
    living.removeIf(Serving::isGone);
    living.add(fresh);
    current = fresh;
  }

  private Serving open() {
    return live == null ? Serving.ofFile(options)
        : newest(index -> new Filters(index, options.filters, options.whereKept));
  }

  private Serving newest(Function<Index, Filters> filters) {
    return Serving.newest(live, current, filters);
  }

  /** The current version, entered; it may be replaced between looking and entering. */
  Serving enter() {
    for (Serving serving = current; serving != null; serving = current) {
      if (serving.enter()) {
        return serving;
      }
    }
    throw Refusal.DRAINING;
  }

  /** How many versions are in use, whether they are among those that are kept or not. */
  long inUse(List<VersionInfo> kept) {
    living.removeIf(Serving::isGone);
    return LongStream.concat(kept.stream().filter(VersionInfo::inUse).mapToLong(VersionInfo::version),
        living.stream().mapToLong(serving -> serving.info.version())).distinct().count();
  }

  /** What is served now, as JSON. */
  JsonPrimitive version() {
    return current.versionJson();
  }

  /**
   * Opens the file anew, or takes the newest version, makes the filters that the settings have by now, and swaps;
   * running requests keep the old version. On a failure it stays.
   */
  synchronized void reload() {
    checkOpen();
    if (options.follow) {
      live.refresh();
    }
    replace(open());
  }

  /** Swaps to the newest version of a live catalogue, with the filters of the one before. On a failure that stays. */
  synchronized void advance() {
    checkOpen();
    if (live.info().version() != current.info.version()) {
      replace(newest(current.filters::on));
    }
  }

  private void checkOpen() {
    if (current == null) {
      throw Refusal.DRAINING;
    }
  }

  private void replace(Serving fresh) {
    Serving old = current;
    if (!Arrays.equals(fresh.codes, old.codes)) { // the model has an output for every code
      fresh.leave();
      throw new IllegalArgumentException(options.index + " has " + Arrays.toString(fresh.codes)
          + " codes per level, expected " + Arrays.toString(old.codes));
    }
    serve(fresh);
    old.leave();
  }

  /** Serves what another process publishes, if one does, until it is closed. */
  void follow(Metrics metrics, Events events) {
    if (options.follow) {
      follower = new Thread(() -> follows(metrics, events), "follower");
      follower.setDaemon(true);
      follower.start();
    }
  }

  private void follows(Metrics metrics, Events events) {
    String failure = "";
    while (!Thread.currentThread().isInterrupted()) {
      try {
        live.refresh(WAIT);
        advance();
        failure = "";
      } catch (RuntimeException e) {
        if (Thread.currentThread().isInterrupted()) {
          return;
        }
        metrics.refreshFailed();
        if (!failure.equals(e.getMessage())) {
          failure = String.valueOf(e.getMessage());
          events.warn("refresh_failed", "message", failure);
        }
        if (!pauses()) {
          return;
        }
      }
    }
  }

  private static boolean pauses() {
    try {
      Thread.sleep(WAIT.toMillis());
      return true;
    } catch (InterruptedException e) {
      return false;
    }
  }

  /** Gives up the current version, and the live catalogue after the calls that run. Requests that run keep theirs. */
  @Override
  public void close() {
    try {
      if (follower != null) {
        follower.interrupt();
        follower.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (this) {
      if (current != null) {
        current.leave();
      }
      current = null;
    }
    if (live != null) {
      live.close();
    }
  }
}
