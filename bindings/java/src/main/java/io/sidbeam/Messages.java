// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Messages of the native library with Java's names in place of C's. */
final class Messages {
  /** The enumeration of each family of constants. */
  private static final Map<String, String> FAMILIES = Map.ofEntries(Map.entry("KIND", "Kind"),
      Map.entry("MODE", "Mode"), Map.entry("NORMALIZE", "Normalization"), Map.entry("STRATEGY", "Strategy"),
      Map.entry("ID", "IdType"), Map.entry("COLLISIONS", "Collisions"), Map.entry("RESIDENCY", "Residency"),
      Map.entry("VERIFY", "Verify"), Map.entry("SYNC", "Sync"), Map.entry("WEIGHTS", "Weights"),
      Map.entry("HIDDEN", "HiddenPath"), Map.entry("SPECULATE", "Speculate"), Map.entry("QUOTES", "Quotes"),
      Map.entry("DTYPE", "DType"), Map.entry("DRAFT_VERIFY", "DraftVerification"),
      Map.entry("DRAFT_INPUT", "DraftInput"), Map.entry("DRAFT_TRANSITION", "DraftTransition"),
      Map.entry("ATTRIBUTE", "AttributeType"), Map.entry("TERM", "Term.Op"), Map.entry("FILTER", "Filter"),
      Map.entry("ROWS", "Rows"));

  /** Words in quotation marks and paths stay, and names of environment variables. */
  private static final Pattern C_WORDS = Pattern.compile("(?<![^ ,(])(?:NULL\\b|SIDBEAM_("
      + String.join("|", FAMILIES.keySet()) + ")_([A-Z0-9_]+|\\*)|SIDBEAM_DEVICE_(CPU|CUDA)"
      + "|sidbeam_([a-z]+)_([a-z]+)\\(\\)|SIDBEAM_(BROADCAST)\\b|(id_(?:bytes|offsets))\\b)");

  private Messages() {}

  static String inJava(String message) {
    byte[] text = message.getBytes(StandardCharsets.UTF_8);
    byte[] words = new byte[3 * text.length + 64];
    int bytes = (int) Native.flat_words(text, words);
    return C_WORDS.matcher(new String(words, 0, bytes, StandardCharsets.UTF_8))
        .replaceAll(found -> Matcher.quoteReplacement(inJava(found)));
  }

  private static String inJava(MatchResult found) {
    if (found.group(1) != null) {
      String family = FAMILIES.get(found.group(1));
      return found.group(2).equals("*") ? family : family + "." + found.group(2);
    }
    if (found.group(4) != null) {
      String kind = found.group(4);
      return Character.toUpperCase(kind.charAt(0)) + kind.substring(1) + "." + found.group(5) + "()";
    }
    if (found.group(3) != null) {
      return found.group(3);
    }
    if (found.group(7) != null) { // of Builder.addNamed
      return found.group(7).equals("id_bytes") ? "nameBytes" : "offsets";
    }
    return found.group(6) != null ? found.group(6) : "null";
  }
}
