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
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** What the library says has no words of C. */
class MessagesTest {
  private static final Pattern LITERAL = Pattern.compile("^[^#\\n]*\"((?:[^\"\\\\\\n]|\\\\.)*)\"", Pattern.MULTILINE);
  private static final Pattern WORDS =
      Pattern.compile("\\bNULL\\b|SIDBEAM_(?!(?:RUNNER_)?CUDA)[A-Z_]+|sidbeam_\\w+\\(");

  @Test
  void namesAreJavas() {
    assertEquals("config.head is null, expected one", Messages.inJava("config.head is NULL, expected one"));
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
    Path sources = Path.of("runtime");
    assumeTrue(Files.isDirectory(sources), "the tests run in the repository's root");
    List<String> left = new ArrayList<>();
    int seen = 0;
    for (Path folder : List.of(sources, Path.of("bindings/flat"), Path.of("bindings/import"))) {
      try (Stream<Path> all = Files.walk(folder)) {
        for (Path path : (Iterable<Path>) all.filter(p -> p.toString().matches(".*\\.(cc|h)"))::iterator) {
          for (String message : (Iterable<String>) LITERAL.matcher(Files.readString(path)).results()
              .map(found -> found.group(1))::iterator) {
            if (message.contains("expected") && WORDS.matcher(message).find()) {
              seen++;
              String shown = Messages.inJava(message);
              if (WORDS.matcher(shown).find()) {
                left.add(path + ": " + shown);
              }
            }
          }
        }
      }
    }
    assertTrue(seen >= 40, "messages with words of C: " + seen);
    assertEquals(List.of(), left);
  }
}
