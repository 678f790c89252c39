// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static io.sidbeam.Fixtures.refused;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AttributesTest {
  @TempDir
  Path folder;

  private static Builder declared() {
    Builder builder = new Builder(new BuilderConfig(4, 4));
    builder.declareAttribute("price", AttributeType.I64);
    builder.declareAttribute("score", AttributeType.F32);
    builder.declareAttribute("stock", AttributeType.BOOL);
    builder.declareAttribute("region", AttributeType.STRING);
    builder.declareAttribute("tags", AttributeType.STRING_LIST);
    builder.add(new int[] {0, 1, 0, 3, 2, 2});
    return builder;
  }

  @Test
  void valuesComeBackByItemRow() {
    try (Builder builder = declared()) {
      builder.setAttribute("price", AttributeValues.of(5L, -7L, 9L).valid(true, false, true));
      builder.setAttribute("score", AttributeValues.of(0.5f, 2, -1));
      builder.setAttribute("stock", AttributeValues.of(true, false, true));
      builder.setAttribute("region", AttributeValues.ofStrings(Arrays.asList("us", null, "caf\u00e9")));
      builder.setAttribute("tags", AttributeValues.ofLists(Arrays.asList(List.of("y", "x", "y"), List.of(), null)));
      try (Index index = builder.finish()) {
        List<Attribute> all = index.attributes();
        assertEquals(List.of("price", "region", "score", "stock", "tags"), all.stream().map(Attribute::name).toList());
        Attribute price = all.get(0);
        assertEquals(AttributeType.I64, price.type());
        assertEquals(1, price.nulls());
        assertEquals(-1, price.distinct());
        assertEquals(5, price.least());
        assertEquals(9, price.greatest());
        assertEquals(-1, all.get(2).least());
        long[] prices = new long[3];
        byte[] valid = new byte[3];
        price.integers(0, prices, valid);
        assertArrayEquals(new long[] {5, 0, 9}, prices);
        assertArrayEquals(new byte[] {1, 0, 1}, valid);
        float[] scores = new float[2];
        all.get(2).numbers(1, scores, null);
        assertArrayEquals(new float[] {2, -1}, scores);
        assertEquals(List.of("caf\u00e9", "us"), all.get(1).strings());
        assertEquals(5L, price.value(0));
        assertNull(price.value(1));
        assertEquals("caf\u00e9", all.get(1).value(2));
        assertNull(all.get(1).value(1));
        assertEquals(2f, all.get(2).value(1));
        assertEquals(false, all.get(3).value(1));
        assertEquals(List.of("y", "x"), all.get(4).value(0));
        assertEquals(List.of(), all.get(4).value(1));
        assertNull(all.get(4).value(2));
        refused(Status.INVALID_ARGUMENT, "is of type string, expected f32",
            () -> all.get(1).numbers(0, new float[1], null));
        refused(Status.INVALID_ARGUMENT, "expected rows of 0 to 2", () -> price.integers(2, new long[2], null));
      }
    }
  }

  @Test
  void wrongOnesAreRefused() {
    try (Builder builder = declared()) {
      refused(Status.BAD_STATE, "attributes are declared before the first",
          () -> builder.declareAttribute("late", AttributeType.BOOL));
      refused(Status.INVALID_ARGUMENT, "count is 1, expected 3, the rows of the last add",
          () -> builder.setAttribute("price", AttributeValues.of(1L)));
      refused(Status.INVALID_ARGUMENT, "no attribute 'colour' was declared",
          () -> builder.setAttribute("colour", AttributeValues.of(1L, 2L, 3L)));
      refused(Status.INVALID_ARGUMENT, "valid has 1 elements, expected at least 3",
          () -> builder.setAttribute("price", AttributeValues.of(1L, 2L, 3L).valid(true)));
      refused(Status.INVALID_ARGUMENT, "attribute 'score': row 1 is NaN",
          () -> builder.setAttribute("score", AttributeValues.of(1f, Float.NaN, 2f)));
    }
  }

  @Test
  void filesNameTheirs() throws Exception {
    Path path = folder.resolve("a.jsonl");
    Files.writeString(path, "{\"item\": 1, \"sid\": [0, 1], \"price\": 5, \"tags\": [\"x\"]}\n");
    try (Index index = Index.fromFile(path, new ImportConfig().attributes("price:f32,tags"), new BuilderConfig(1))) {
      assertEquals(5f, index.attributes().get(0).value(0));
      assertEquals(List.of("x"), index.attributes().get(1).value(0));
    }
  }
}
