// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.IdType;
import io.sidbeam.Index;
import io.sidbeam.OpenConfig;
import io.sidbeam.Verify;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.LongStream;

/**
 * One version of the index, and its filters. A reload makes another one and lets the requests of this one finish: it
 * closes with the last of them.
 */
final class Serving {
  private static final int CHUNK = 4096;

  final Index index;
  final String version;
  final boolean named;
  final int[] codes; // per level
  final Filters filters;
  private final Map<Object, int[]> sids = new HashMap<>(); // by item id
  private final AtomicInteger users = new AtomicInteger(1); // requests, and the service while it is the current one

  Serving(Options options) {
    index = Index.open(options.index(), new OpenConfig().verify(Verify.FULL));
    try {
      version = index.info().fingerprint();
      codes = index.info().codes();
      named = index.info().idType() == IdType.STRING;
      readItems();
      filters = new Filters(index, options.filters(), options.whereKept());
    } catch (RuntimeException e) {
      index.close();
      throw e;
    }
  }

  /** Histories name items; Index.findItem would pass over all ids for each. */
  private void readItems() {
    long items = index.info().items();
    for (long begin = 0; begin < items; begin += CHUNK) {
      long[] rows = LongStream.range(begin, Math.min(items, begin + CHUNK)).toArray();
      long[] ordinals = index.itemOrdinals(rows);
      List<?> ids = ids(rows);
      for (int i = 0; i < rows.length; i++) {
        sids.putIfAbsent(ids.get(i), index.sid(ordinals[i]));
      }
    }
  }

  /** Ids of item rows: Long or String. */
  List<?> ids(long[] rows) {
    return named ? index.itemNames(rows) : LongStream.of(index.itemIds(rows)).boxed().toList();
  }

  /** The SID of an item, or null: items come and go between versions. */
  int[] sid(Object id) {
    return sids.get(id);
  }

  /** Enters, unless this version is closed. */
  boolean enter() {
    return users.getAndUpdate(n -> n == 0 ? 0 : n + 1) > 0;
  }

  void leave() {
    if (users.decrementAndGet() == 0) {
      filters.close();
      index.close();
    }
  }
}
