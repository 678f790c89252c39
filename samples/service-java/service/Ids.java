// SPDX-License-Identifier: Apache-2.0
package service;

import io.sidbeam.IdType;
import io.sidbeam.Index;
import io.sidbeam.ItemList;
import java.math.BigInteger;
import java.util.List;
import java.util.stream.LongStream;

/** The ids of items: a String, or a Long, which has unsigned ones as the same bits. */
final class Ids {
  private Ids() {}

  /** An id of a request's JSON; null where it is none of this type. */
  static Object read(Object json, IdType type) {
    if (json instanceof BigInteger big && type == IdType.U64 && big.signum() > 0) {
      return big.bitLength() <= Long.SIZE ? big.longValue() : null;
    }
    boolean fits = type == IdType.STRING ? json instanceof String
        : json instanceof Long number && (type == IdType.I64 || number >= 0);
    return fits ? json : null;
  }

  /** What {@link #read} takes. */
  static String expected(IdType type) {
    return (type == IdType.STRING ? "a string" : "an integer") + ", as the ids of this index are";
  }

  static List<?> of(Index index, IdType type, long[] rows) {
    return type == IdType.STRING ? index.itemNames(rows) : LongStream.of(index.itemIds(rows)).boxed().toList();
  }

  static String json(Object id, IdType type) {
    return id instanceof String name ? Json.quote(name)
        : type == IdType.U64 ? Long.toUnsignedString((Long) id) : id.toString();
  }

  static ItemList list(List<?> ids, IdType type) {
    return type == IdType.STRING ? ItemList.ofNames(ids.stream().map(String.class::cast).toArray(String[]::new))
        : ItemList.ofIds(ids.stream().mapToLong(Long.class::cast).toArray());
  }
}
