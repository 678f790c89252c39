// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import com.google.gson.stream.JsonWriter;
import io.sidbeam.IdType;
import io.sidbeam.Index;
import io.sidbeam.ItemList;
import java.io.IOException;
import java.util.List;
import java.util.stream.LongStream;

/** The ids of items: a String, or a Long, which has unsigned ones as the same bits. */
final class Ids {
  private Ids() {}

  /** An id of a request's JSON; refuses another type than the index has. */
  static Object read(JsonElement value, String path, IdType type) {
    if (value instanceof JsonPrimitive id && id.isString() == (type == IdType.STRING) && !id.isBoolean()) {
      Object read = read(id.getAsString(), type);
      if (read != null) {
        return read;
      }
    }
    throw Fields.mistake(value, path, expected(type));
  }

  /** As in JSON, without quotation marks; null: it is none of this type. */
  static Object read(String text, IdType type) {
    if (type == IdType.STRING) {
      return text;
    }
    try {
      return !Fields.INTEGER.matcher(text).matches() ? null
          : type == IdType.U64 ? Long.parseUnsignedLong(text) : Long.parseLong(text);
    } catch (NumberFormatException e) {
      return null; // it has more than 64 bits, or a sign
    }
  }

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

  static void write(JsonWriter out, Object id, IdType type) throws IOException {
    if (id instanceof String name) {
      out.value(name);
    } else {
      out.jsonValue(json(id, type));
    }
  }

  static ItemList list(List<?> ids, IdType type) {
    return type == IdType.STRING ? ItemList.ofNames(ids.stream().map(String.class::cast).toArray(String[]::new))
        : ItemList.ofIds(ids.stream().mapToLong(Long.class::cast).toArray());
  }
}
