// SPDX-License-Identifier: Apache-2.0
package service; // whose classes are its own

import io.sidbeam.AttributeType;
import io.sidbeam.AttributeValues;
import io.sidbeam.Builder;
import io.sidbeam.BuilderConfig;
import io.sidbeam.Filter;
import io.sidbeam.Index;
import java.nio.file.Files;
import java.nio.file.Path;

/** The filters of texts that are kept: the latest, and one that goes meanwhile stays with those that use it. */
public final class FiltersTest {
  private FiltersTest() {}

  private static void check(boolean holds, String what) {
    if (!holds) {
      throw new AssertionError(what);
    }
  }

  private static void keeps(Index index, Path settings, int most) {
    try (Filters filters = new Filters(index, settings, most)) {
      Filter first;
      try (Filters.Use use = filters.use(null, "price<2"); Filters.Use again = filters.use(null, "price<2")) {
        first = use.filter;
        check((again.filter == first) == (most > 0), "the same filter, of " + most + " kept");
        for (int i = 3; i < 9; i++) {
          try (Filters.Use other = filters.use("cheap", "price<" + i)) {
            check(other.filter.info().items() == Math.min(i, 4), "both filters hold: " + other.filter.info());
          }
        }
        check(filters.size() == most, filters.size() + " are kept, expected " + most);
        check(first.info().items() == 2, "a filter in use: " + first.isClosed());
      }
      check(first.isClosed(), "nobody uses it");
      try (Filters.Use named = filters.use("cheap", null)) {
        first = named.filter;
        check(first.info().items() == 4 && first.info().prepared(), "a filter of the settings: " + first.info());
      }
      check(!first.isClosed(), "the settings keep it");
    }
  }

  /** Takes a folder to work in. */
  public static void main(String[] arguments) throws Exception {
    Path settings = Files.writeString(Path.of(arguments[0], "kept.json"), "{\"cheap\": \"price<4\"}");
    try (Builder builder = new Builder(new BuilderConfig(16))) {
      builder.declareAttribute("price", AttributeType.I64);
      builder.add(new int[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
      builder.setAttribute("price", AttributeValues.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
      try (Index index = builder.finish()) {
        keeps(index, settings, 0);
        keeps(index, settings, 2);
      }
    }
  }
}
