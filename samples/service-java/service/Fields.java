// SPDX-License-Identifier: Apache-2.0
package service;

import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import service.Service.Refusal;

/** Reads the values of a body, and names a mistake by its path. */
final class Fields {
  /** In place of a member that is not there. */
  static final Object MISSING = new Object();

  private Fields() {}

  /** The body itself, an object whose members are some of these. */
  static Map<?, ?> body(String text, List<String> known) throws Refusal {
    String why = "";
    try {
      if (Json.parse(text) instanceof Map<?, ?> body) {
        return known(body, "", known);
      }
    } catch (IllegalArgumentException e) {
      why = ": " + e.getMessage();
    }
    throw new Refusal(400, "the body is no JSON object with " + known + why);
  }

  static Map<?, ?> object(Object value, String path, List<String> known) throws Refusal {
    if (value instanceof Map<?, ?> object) {
      return known(object, path + ".", known);
    }
    throw mistake(value, path, "an object");
  }

  /** A member that is misspelt would be none. */
  private static Map<?, ?> known(Map<?, ?> object, String prefix, List<String> known) throws Refusal {
    for (Object name : new TreeSet<Object>(object.keySet())) {
      if (!known.contains(name)) {
        throw new Refusal(400, "there is no member " + prefix + Json.cut((String) name)
            + ", expected some of " + known);
      }
    }
    return object;
  }

  /** A member, which may be null, or MISSING. */
  static Object get(Map<?, ?> object, String name) {
    return object.containsKey(name) ? object.get(name) : MISSING;
  }

  static boolean isNull(Object value) {
    return value == null || value == MISSING;
  }

  static List<?> array(Object value, String path, String of) throws Refusal {
    if (value instanceof List<?> list) {
      return list;
    }
    throw mistake(value, path, "an array of " + of);
  }

  static long integer(Object value, String path, String expected) throws Refusal {
    if (value instanceof Long number) {
      return number;
    }
    throw mistake(value, path, expected);
  }

  static String text(Object value, String path) throws Refusal {
    if (value instanceof String text) {
      return text;
    }
    throw mistake(value, path, "a string");
  }

  /** What a value is, and what was expected. */
  static Refusal mistake(Object value, String path, String expected) {
    if (value == MISSING) {
      return new Refusal(400, path + " is missing, expected " + expected);
    }
    String shown = value instanceof String text ? Json.quote(text) : String.valueOf(value);
    return new Refusal(400, path + " is " + Json.cut(shown) + ", expected "
        + expected);
  }
}
