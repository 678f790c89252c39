// SPDX-License-Identifier: Apache-2.0
package service; // whose classes are its own

import com.google.gson.JsonElement;

/** What is JSON, and what Gson alone would take for it. */
public final class JsonTest {
  private JsonTest() {}

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  private static void refuses(String text, String path, String message) {
    try {
      check(false, text + " was read as " + Json.read(text));
    } catch (Refusal e) {
      check(e.status == 400 && e.path.equals(path) && e.getMessage().equals(message), text + ": " + e.getMessage());
    }
  }

  private static void takesJsonAlone() {
    String[] others = {"TRUE", "nUll", "[falsE]", "{\"a\": NULL}", "\"a\tb\"", "\"a\nb\"", "{\"a\u0000\": 1}",
        "\"\\'\"", "\"\\\n\"", "'a'", "{a: 1}", "[1;2]", "[1,]", "[,1]", "{\"a\" 1}", "{\"a\"=1}", "01", "+1", ".5",
        "1.", "1e", "0x1", "NaN", "-Infinity", "// c\n1", "# c\n1", "/* c */1", "\"\\x\"", "\"\\u12\"", "\"a", "[1",
        "tru", ")]}'\n1", "\ufeff1", "1 1", "{} {}", "", " "};
    for (String text : others) {
      try {
        check(false, text + " was read as " + Json.read(text));
      } catch (Refusal e) {
        check(e.path.equals("body") && e.getMessage().startsWith("the body is no JSON"), text + ": " + e.getMessage());
      }
    }
  }

  private static void keepsWhatIsWritten() {
    String[] texts = {"18446744073709551615", "-9223372036854775808", "1.50", "-0", "1E5", "1e-5", "true", "null",
        "\"\\u0041\\/\\\"\\\\\\b\\f\\n\\r\\t\u00e9\ud83d\ude00TRUE\"", "{\"E\":1,\"e\":[[]],\"\":{}}", " [ ]\r\n\t"};
    String[] shown = {texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], texts[6], texts[7],
        "\"A/\\\"\\\\\\b\\f\\n\\r\\t\u00e9\ud83d\ude00TRUE\"", texts[9], "[]"};
    for (int i = 0; i < texts.length; i++) {
      JsonElement value = Json.read(texts[i]);
      check(value.toString().equals(shown[i]), texts[i] + " was read as " + value);
    }
    String long_ = "\"" + "\\\\a".repeat(300_000) + "\"";
    check(Json.read(long_).getAsString().length() == 600_000, "a long string");
  }

  /** Exits with 1, and says why, unless all holds. */
  public static void main(String[] arguments) {
    takesJsonAlone();
    keepsWhatIsWritten();
    JsonElement twice = Json.read("{\"b\": 1, \"\\u0062\": 2, \"c\": \"given twice\"}");
    check(twice.getAsJsonObject().get("b") == Json.TWICE && twice.getAsJsonObject().get("c") != Json.TWICE, "b alone");
    refuses("[\"\ud800\"]", "body", "the body has half of a surrogate pair");
    refuses("{\"\\ude00\\ud83d\": 1}", "body", "the body has half of a surrogate pair");
    refuses("[".repeat(40) + "]".repeat(40), "body", "the body has more than 32 levels");
    refuses("{\"a\": [1, }", "body", "the body is no JSON: it goes wrong at $.a[1]");
    refuses("[{\"a\": ", "body", "the body is no JSON: it ends at $[0].a");
  }
}
