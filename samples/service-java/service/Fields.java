// SPDX-License-Identifier: Apache-2.0
package service;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonPrimitive;
import io.sidbeam.IndexInfo;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Reads the values of a body, of which null is one that is not there, and names a mistake by its place. */
final class Fields {
  /** Without a fraction and an exponent, which 1.0 and 1e3 have. */
  static final Pattern INTEGER = Pattern.compile("-?(0|[1-9][0-9]*)");

  private Fields() {}

  /** The body itself, an object whose members are some of these. */
  static JsonObject body(String text, List<String> known) {
    if (Json.read(text) instanceof JsonObject body) {
      return known(body, "", known);
    }
    throw Refusal.wrong(Refusal.BODY, "is no JSON object with " + known);
  }

  static JsonObject object(JsonElement value, String path, List<String> known) {
    if (value instanceof JsonObject object) {
      return known(object, path + ".", known);
    }
    throw mistake(value, path, "an object");
  }

  /** A member that is misspelt would be none, and of one that is given twice the first would be dropped. */
  private static JsonObject known(JsonObject object, String prefix, List<String> known) {
    for (Map.Entry<String, JsonElement> member : object.entrySet()) {
      if (member.getValue() == Json.TWICE) {
        throw Refusal.wrong(prefix + Json.cut(member.getKey()), "is given twice");
      }
    }
    for (String name : object.keySet()) {
      if (!known.contains(name)) {
        throw Refusal.wrong(prefix + Json.cut(name), "is not known, expected some of " + known);
      }
    }
    return object;
  }

  static JsonArray array(JsonElement value, String path, String of) {
    if (value instanceof JsonArray array) {
      return array;
    }
    throw mistake(value, path, "an array of " + of);
  }

  static long integer(JsonElement value, String path, String expected) {
    try {
      if (value instanceof JsonPrimitive number && number.isNumber()
          && INTEGER.matcher(number.getAsString()).matches()) {
        return Long.parseLong(number.getAsString());
      }
    } catch (NumberFormatException e) {
      // It has more than 64 bits.
    }
    throw mistake(value, path, expected);
  }

  /** An integer within bounds. */
  static int within(JsonElement value, String path, int least, int most) {
    String expected = least + " .. " + most;
    long number = integer(value, path, expected);
    if (number < least || number > most) {
      throw mistake(value, path, expected);
    }
    return (int) number;
  }

  static String text(JsonElement value, String path) {
    if (value instanceof JsonPrimitive text && text.isString()) {
      return text.getAsString();
    }
    throw mistake(value, path, "a string");
  }

  /** The codes of a SID. */
  static int[] sid(JsonElement value, String path, IndexInfo info) {
    JsonArray codes = array(value, path, "codes");
    int least = info.variableLength() ? 1 : info.levels();
    if (codes.size() < least || codes.size() > info.levels()) {
      throw Refusal.wrong(path, "has " + codes.size() + " codes, expected "
          + (info.variableLength() ? "1 .. " : "") + info.levels());
    }
    int[] limits = info.codes();
    int[] sid = new int[codes.size()];
    for (int l = 0; l < sid.length; l++) {
      sid[l] = within(codes.get(l), path + "[" + l + "]", 0, limits[l] - 1);
    }
    return sid;
  }

  /** What a value is, and what was expected. */
  static Refusal mistake(JsonElement value, String path, String expected) {
    return Refusal.wrong(path, (value == null ? "is missing" : "is " + Json.cut(value.toString())) + ", expected "
        + expected);
  }
}
