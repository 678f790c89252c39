// SPDX-License-Identifier: Apache-2.0
package service;

import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON into Map, List, String, Long, BigInteger, Double, Boolean and null. It is small; a real service has a
 * library.
 */
final class Json {
  /** Nothing that a client sends may overflow the stack. */
  private static final int MAX_DEPTH = 32;
  private static final int MAX_DIGITS = 40;
  private static final int MAX_SHOWN = 40;

  private final String text;
  private int at;
  private int depth;

  private Json(String text) {
    this.text = text;
  }

  /** Throws IllegalArgumentException with the place where it went wrong. */
  static Object parse(String text) {
    Json json = new Json(text);
    Object value = json.value();
    json.skipBlanks();
    if (json.at < text.length()) {
      throw json.wrong("the end");
    }
    return value;
  }

  private IllegalArgumentException wrong(String expected) {
    String came = at < text.length() ? "'" + text.charAt(at) + "'" : "the end";
    return new IllegalArgumentException("JSON, character " + at + ": expected " + expected + ", came " + came);
  }

  private void skipBlanks() {
    while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
      at++;
    }
  }

  private boolean take(char c) {
    skipBlanks();
    if (at < text.length() && text.charAt(at) == c) {
      at++;
      return true;
    }
    return false;
  }

  private void need(char c) {
    if (!take(c)) {
      throw wrong("'" + c + "'");
    }
  }

  private Object value() {
    if (++depth > MAX_DEPTH) {
      throw wrong("at most " + MAX_DEPTH + " levels");
    }
    try {
      return take('{') ? object() : take('[') ? array() : take('"') ? string() : word();
    } finally {
      depth--;
    }
  }

  private Map<String, Object> object() {
    Map<String, Object> object = new LinkedHashMap<>();
    if (take('}')) {
      return object;
    }
    do {
      need('"');
      String key = string();
      if (object.containsKey(key)) {
        throw wrong("no second member " + quote(cut(key)));
      }
      need(':');
      object.put(key, value());
    } while (take(','));
    need('}');
    return object;
  }

  private List<Object> array() {
    List<Object> array = new ArrayList<>();
    if (take(']')) {
      return array;
    }
    do {
      array.add(value());
    } while (take(','));
    need(']');
    return array;
  }

  private String string() {
    StringBuilder out = new StringBuilder();
    while (at < text.length() && text.charAt(at) != '"') {
      char c = text.charAt(at++);
      if (c < ' ') {
        at--;
        throw wrong("no control character in a string");
      }
      out.append(c == '\\' ? escaped() : c);
    }
    if (at == text.length()) {
      throw wrong("'\"'");
    }
    if (out.codePoints().anyMatch(c -> Character.getType(c) == Character.SURROGATE)) {
      throw wrong("no half of a surrogate pair in a string"); // which UTF-8 does not have
    }
    at++;
    return out.toString();
  }

  private char escaped() {
    int kind = at < text.length() ? "\"\\/bfnrtu".indexOf(text.charAt(at)) : -1;
    if (kind < 0) {
      throw wrong("an escape");
    }
    at++;
    if (kind < 8) {
      return "\"\\/\b\f\n\r\t".charAt(kind);
    }
    try {
      char c = (char) Integer.parseInt(text, at, at + 4, 16);
      at += 4;
      return c;
    } catch (IndexOutOfBoundsException | NumberFormatException e) {
      throw wrong("four hexadecimal digits");
    }
  }

  private Object word() {
    int begin = at;
    while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || "+-.".indexOf(text.charAt(at)) >= 0)) {
      at++;
    }
    String word = text.substring(begin, at);
    try {
      return switch (word) {
        case "true" -> true;
        case "false" -> false;
        case "null" -> null;
        default -> {
          if (!word.matches("-?(0|[1-9]\\d*)(\\.\\d+)?([eE][+-]?\\d+)?")) {
            throw new NumberFormatException();
          }
          yield word.matches("-?\\d+") ? integer(word) : (Object) Double.valueOf(word);
        }
      };
    } catch (NumberFormatException e) {
      at = begin;
      throw wrong("a value");
    }
  }

  /** A BigInteger where a Long is too short, as unsigned ids may be. */
  private static Object integer(String word) {
    BigInteger number = new BigInteger(word.length() <= MAX_DIGITS ? word : "no number");
    return number.bitLength() < Long.SIZE ? (Object) number.longValue() : number;
  }

  /** As much of a client's text as an error shows. */
  static String cut(String text) {
    return text.length() > MAX_SHOWN ? text.substring(0, MAX_SHOWN) : text;
  }

  /** A string with its quotes. */
  static String quote(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (char c : text.toCharArray()) {
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }
}
