// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.IdType;
import io.sidbeam.Index;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;

/**
 * The rows of items by their ids; Index.findItem would pass over all ids for each. Rows are only ever added, so that
 * the versions of one generation of a live catalogue share a table, each up to its own number of rows.
 */
final class ItemTable {
  private static final int CHUNK = 4096;

  private final Map<Object, long[]> rows = new ConcurrentHashMap<>(); // rising
  private long count; // rows that were read

  /** Reads those rows that this table has not; one thread at a time. */
  void read(Index index, IdType type) {
    long items = index.info().items();
    while (count < items) {
      long[] more = LongStream.range(count, Math.min(items, count + CHUNK)).toArray();
      List<?> ids = Ids.of(index, type, more);
      for (int i = 0; i < more.length; i++) {
        rows.merge(ids.get(i), new long[] {more[i]},
            (before, row) -> LongStream.concat(LongStream.of(before), LongStream.of(row)).toArray());
      }
      count += more.length;
    }
  }

  /** The rows of an item below a number. */
  long[] find(Object id, long below) {
    long[] all = rows.get(id);
    return all == null ? new long[0] : LongStream.of(all).takeWhile(row -> row < below).toArray();
  }
}
