// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the library says has no words of C. */
class MessagesTest {
  /** Strings, those beside each other as one. */
  private static final Pattern TEXT =
      Pattern.compile("\"(?:[^\"\\\\\\n]|\\\\.)*\"(?:\\s*\"(?:[^\"\\\\\\n]|\\\\.)*\")*");
  private static final Pattern PIECE = Pattern.compile("\"((?:[^\"\\\\\\n]|\\\\.)*)\"");
  /** What only C says; names of environment variables and files apart. */
  private static final Pattern WORDS =
      Pattern.compile("\\b(?:config|model_config|args|rows|request|sampling|hidden)\\.(?!json|npy|cc\\b)[\\w%]"
          + "|\\bNULL\\b|\\bSIDBEAM_(?!CATALOGUES|NATIVE_DIR|CUDA_LIBRARY|RUNNER_CUDA_LIBRARY|CUDA_PDL)"
          + "|\\bsidbeam_\\w+\\(");

  @Test
  void namesAreJavas() {
    assertEquals("head is null, expected one", Messages.inJava("config.head is NULL, expected one"));
    assertEquals("expected 5, beams, or %s", Messages.inJava("expected 5, config.beams, or config.%s"));
    assertEquals("the number of columns of logits is 3, hidden is null",
        Messages.inJava("rows.columns is 3, hidden.data is NULL"));
    assertEquals("the number of drafts is 1 (seeds)",
        Messages.inJava("args.draft_count is 1 (request.sampling.seeds)"));
    String files = "'/srv/config.d/rows.columns' has no config.json";
    assertEquals(files, Messages.inJava(files));
    assertEquals("strategy is Strategy.SORTED_TOPK (DType.F32)",
        Messages.inJava("strategy is SIDBEAM_STRATEGY_SORTED_TOPK (SIDBEAM_DTYPE_F32)"));
    assertEquals("expected Kind or'ed, or CUDA",
        Messages.inJava("expected SIDBEAM_KIND_* or'ed, or SIDBEAM_DEVICE_CUDA"));
    assertEquals("expected Index.upload() before", Messages.inJava("expected sidbeam_index_upload() before"));
    String kept = "cannot open '/srv/NULL/SIDBEAM_ID_I64' that SIDBEAM_CUDA_LIBRARY names";
    assertEquals(kept, Messages.inJava(kept));
  }

  @Test
  void everyMessageOfTheSourcesIsInJava() throws IOException {
    assumeTrue(Files.isDirectory(Path.of("runtime")), "the tests run in the repository's root");
    List<String> left = new ArrayList<>();
    int seen = 0;
    for (String folder : List.of("runtime", "bindings/flat", "bindings/import")) {
      for (String text : texts(Path.of(folder), ".*\\.(cc|cu|cuh|h)")) {
        if (!WORDS.matcher(text).find()) {
          continue;
        }
        seen++;
        String shown = Messages.inJava(text);
        if (WORDS.matcher(shown).find()) {
          left.add(shown);
        }
      }
    }
    assertTrue(seen >= 300, "messages with words of C: " + seen);
    assertEquals(List.of(), left);
  }

  @Test
  void theLibraryItselfHasNoWordsOfC() throws IOException {
    Path sources = Path.of("bindings/java/src/main/java");
    assumeTrue(Files.isDirectory(sources), "the tests run in the repository's root");
    List<String> texts = texts(sources, ".*(?<!Messages)\\.java");
    assertTrue(texts.size() > 100, "texts: " + texts.size());
    texts.removeIf(text -> !WORDS.matcher(text).find());
    assertEquals(List.of(), texts);
  }

  private static List<String> texts(Path folder, String names) throws IOException {
    List<String> texts = new ArrayList<>();
    try (Stream<Path> all = Files.walk(folder)) {
      for (Path path : (Iterable<Path>) all.filter(p -> p.toString().matches(names))::iterator) {
        Matcher found = TEXT.matcher(Files.readString(path).replaceAll("(?m)^\\s*#include.*$", ""));
        while (found.find()) {
          texts.add(PIECE.matcher(found.group()).results().map(piece -> piece.group(1)).collect(Collectors.joining())
              .replace("\\\"", "\""));
        }
      }
    }
    return texts;
  }
}
