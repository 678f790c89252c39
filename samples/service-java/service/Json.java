// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import com.google.gson.ToNumberPolicy;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonToken;
import com.google.gson.stream.MalformedJsonException;
import java.io.EOFException;
import java.io.IOException;
import java.io.StringReader;
import java.util.regex.Pattern;

/** JSON by Gson, which alone would take more than JSON, and of members that are given twice the last. */
final class Json {
  /** Nothing that a client sends may overflow the stack. */
  private static final int MAX_DEPTH = 32;
  private static final int MAX_SHOWN = 40;

  /** In place of the value of a member that is given twice, which whoever looks at its object refuses. */
  static final JsonPrimitive TWICE = new JsonPrimitive("given twice");

  /**
   * JSON's alphabet, in strings and outside. Gson takes more: TRUE for true, a byte order mark, control characters in
   * strings, and escapes of ' and of a line's end.
   */
  private static final Pattern STRICT =
      Pattern.compile("(?:[\\t\\n\\r #-@\\[-~]|(?<=[0-9])E|\"(?:[^\"\\\\\\x00-\\x1f]|\\\\[^'\\n])*+\")*+");

  private Json() {}

  /** A text, whole; numbers are as they are written. Refuses the first mistake. */
  static JsonElement read(String text) {
    JsonReader reader = new JsonReader(new StringReader(text));
    try {
      if (!STRICT.matcher(text).matches()) {
        throw new MalformedJsonException("a string or a word of another kind");
      }
      JsonElement value = value(reader, 0);
      if (reader.peek() != JsonToken.END_DOCUMENT) {
        throw new MalformedJsonException("more");
      }
      return value;
    } catch (IOException e) {
      throw Refusal.wrong(Refusal.BODY, "is no JSON: it " + (e instanceof EOFException ? "ends" : "goes wrong") + " at "
          + cut(reader.getPath()));
    }
  }

  private static JsonElement value(JsonReader reader, int depth) throws IOException {
    if (depth > MAX_DEPTH) {
      throw Refusal.wrong(Refusal.BODY, "has more than " + MAX_DEPTH + " levels");
    }
    return switch (reader.peek()) {
      case BEGIN_OBJECT -> object(reader, depth);
      case BEGIN_ARRAY -> array(reader, depth);
      case STRING -> new JsonPrimitive(whole(reader.nextString()));
      case NUMBER -> new JsonPrimitive(ToNumberPolicy.LAZILY_PARSED_NUMBER.readNumber(reader));
      case BOOLEAN -> new JsonPrimitive(reader.nextBoolean());
      default -> {
        reader.nextNull();
        yield JsonNull.INSTANCE;
      }
    };
  }

  private static JsonObject object(JsonReader reader, int depth) throws IOException {
    JsonObject object = new JsonObject();
    reader.beginObject();
    while (reader.hasNext()) {
      String name = whole(reader.nextName());
      JsonElement value = value(reader, depth + 1);
      object.add(name, object.has(name) ? TWICE : value);
    }
    reader.endObject();
    return object;
  }

  private static JsonArray array(JsonReader reader, int depth) throws IOException {
    JsonArray array = new JsonArray();
    reader.beginArray();
    while (reader.hasNext()) {
      array.add(value(reader, depth + 1));
    }
    reader.endArray();
    return array;
  }

  /** UTF-8 has no halves of surrogate pairs. */
  private static String whole(String text) {
    for (int i = 0; i < text.length(); i++) {
      if (Character.isSurrogate(text.charAt(i)) && !Character.isSupplementaryCodePoint(text.codePointAt(i++))) {
        throw Refusal.wrong(Refusal.BODY, "has half of a surrogate pair");
      }
    }
    return text;
  }

  /** An object of names and their values, in turn. */
  static JsonObject of(Object... members) {
    JsonObject object = new JsonObject();
    for (int i = 0; i < members.length; i += 2) {
      object.add((String) members[i], element(members[i + 1]));
    }
    return object;
  }

  private static JsonElement element(Object value) {
    return value instanceof JsonElement element ? element
        : value instanceof Number number ? new JsonPrimitive(number)
        : value instanceof Boolean bool ? new JsonPrimitive(bool) : new JsonPrimitive((String) value);
  }

  /** A string with its quotation marks. */
  static String quote(String text) {
    return new JsonPrimitive(text).toString();
  }

  /** As much of a client's text as an error shows. */
  static String cut(String text) {
    return text.length() > MAX_SHOWN ? text.substring(0, MAX_SHOWN) : text;
  }
}
