// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonPrimitive;
import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.Catalog;
import io.sidbeam.CatalogInfo;
import io.sidbeam.IdType;
import io.sidbeam.Index;
import io.sidbeam.IndexInfo;
import io.sidbeam.Kind;
import io.sidbeam.OpenConfig;
import io.sidbeam.Verify;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * One version of the index, which may be one of a live catalogue, and its filters. Another one replaces it and lets the
 * requests of this one finish: it closes with the last of them.
 */
final class Serving {
  final Index index;
  final IndexInfo info;
  final String version; // the number of a version, or the fingerprint of a file's index
  final Instant published; // of a version; null: of a file
  final IdType idType;
  final int[] codes; // per level
  final Filters filters;
  private final ItemTable items;
  private final AtomicInteger users = new AtomicInteger(1); // requests, and the service while it is the current one

  /** Takes over the index. */
  private Serving(Index index, Instant published, Serving before, Function<Index, Filters> filters) {
    this.index = index;
    this.published = published;
    try {
      info = index.info();
      version = info.version() > 0 ? Long.toString(info.version()) : info.fingerprint();
      codes = info.codes();
      idType = info.idType();
      items = continues(before) ? before.items : new ItemTable();
      items.read(index, idType);
      this.filters = filters.apply(index);
    } catch (RuntimeException e) {
      index.close();
      throw e;
    }
  }

  private boolean continues(Serving before) {
    return before != null && info.generation() > 0 && before.info.generation() == info.generation()
        && before.info.version() <= info.version();
  }

  /** What the file holds by now. */
  static Serving ofFile(Options options) {
    OpenConfig config = new OpenConfig().residency(options.residency).verify(Verify.FULL);
    return new Serving(Index.open(options.index, config), null, null,
        index -> new Filters(index, options.filters, options.whereKept));
  }

  /** The newest version of a live catalogue; `before`, which may be null, is the one that it replaces. */
  static Serving newest(Catalog live, Serving before, Function<Index, Filters> filters) {
    while (true) {
      CatalogInfo now = live.info();
      Serving made = new Serving(live.snapshot(), now.published(), before, filters);
      if (made.info.version() == now.version()) {
        return made;
      }
      made.leave(); // another one was published meanwhile
    }
  }

  /** The version as JSON: an integer, or a string of a file's. */
  JsonPrimitive versionJson() {
    return info.version() > 0 ? new JsonPrimitive(info.version()) : new JsonPrimitive(version);
  }

  /** Ids of item rows: Long or String. */
  List<?> ids(long[] rows) {
    return Ids.of(index, idType, rows);
  }

  /** The SID of an item, the least where it has several, or null: items come and go between versions. */
  int[] sid(Object id) {
    long[] rows = items.find(id, info.items());
    int[] least = null;
    for (long ordinal : rows.length == 0 ? rows : liveOrdinals(rows)) {
      int[] sid = index.sid(ordinal);
      if (least == null || precedes(sid, least)) {
        least = sid;
      }
    }
    return least;
  }

  /** The ordinals of those rows that are live: what has gone keeps its row. */
  private long[] liveOrdinals(long[] rows) {
    long[] ordinals = LongStream.of(index.itemOrdinals(rows)).distinct().toArray();
    if (info.liveItems() == info.items()) {
      return ordinals;
    }
    var live = LongStream.of(index.itemRowsOf(ordinals, 0, 0, false).rows()).boxed().collect(Collectors.toSet());
    long[] left = LongStream.of(rows).filter(live::contains).toArray();
    return left.length == 0 ? left : index.itemOrdinals(left);
  }

  /** The order of SIDs: code by code, the end after every code. */
  static boolean precedes(int[] sid, int[] other) {
    int l = Arrays.mismatch(sid, other);
    return l >= 0 && l < sid.length && (l == other.length || sid[l] < other[l]);
  }

  /**
   * An index of one SID and of the same shape, for the runner, which holds its own as long as it lives: it shall not
   * keep the first version. Each request names the one that it runs under.
   */
  Index like() {
    BuilderConfig config = new BuilderConfig(codes).variableLength(info.variableLength())
        .kinds(info.kinds().toArray(Kind[]::new)).codebook(index.codebook());
    try (Builder builder = new Builder(config)) {
      builder.add(new int[codes.length]);
      return builder.finish();
    }
  }

  /** Enters, unless this version is closed. */
  boolean enter() {
    return users.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
  }

  boolean isGone() {
    return users.get() == 0;
  }

  void leave() {
    if (users.decrementAndGet() == 0) {
      filters.close();
      index.close();
    }
  }
}
