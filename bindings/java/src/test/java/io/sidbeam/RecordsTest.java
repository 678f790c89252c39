// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Modifier;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;

/** Records are equal by content, arrays too, and show it. */
class RecordsTest {
  /** All public ones, so that none can come without this. */
  private static List<Class<?>> records() throws Exception {
    List<Class<?>> records = new ArrayList<>();
    try (JarFile jar = new JarFile(Fixtures.JAR.toFile())) {
      for (var entry : java.util.Collections.list(jar.entries())) {
        if (entry.getName().matches("io/sidbeam/.*\\.class")) {
          Class<?> type = Class.forName(entry.getName().replace(".class", "").replace('/', '.'));
          if (type.isRecord() && Modifier.isPublic(type.getModifiers())) {
            records.add(type);
          }
        }
      }
    }
    return records;
  }

  /** A value of a type; another one for another number, where it is an array or a number. */
  private static Object value(Class<?> type, int number) {
    return type == int.class ? (Object) number : type == long.class ? (long) number
        : type == float.class ? (float) number : type == double.class ? (double) number
        : type == boolean.class ? true : type == int[].class ? new int[] {1, number}
        : type == long[].class ? new long[] {1, number} : type == float[].class ? new float[] {Float.NaN, number}
        : type == String.class ? "text" : type == List.class ? List.of(5) : type == Set.class ? Set.of()
        : type == Duration.class ? Duration.ZERO : type == Instant.class ? Instant.EPOCH
        : type.isEnum() ? type.getEnumConstants()[0] : null;
  }

  /** With the number at one component, and 7 at the others. */
  private static Object make(Class<?> type, int at, int number) throws Exception {
    RecordComponent[] components = type.getRecordComponents();
    Object[] values = new Object[components.length];
    for (int i = 0; i < values.length; i++) {
      values[i] = value(components[i].getType(), i == at ? number : 7);
    }
    return type.getDeclaredConstructor(Arrays.stream(components).map(RecordComponent::getType).toArray(Class[]::new))
        .newInstance(values);
  }

  @Test
  void recordsAreEqualByContent() throws Exception {
    int arrays = 0;
    for (Class<?> type : records()) {
      Object one = make(type, -1, 0);
      assertEquals(one, make(type, -1, 0));
      assertEquals(one.hashCode(), make(type, -1, 0).hashCode(), type.getName());
      assertNotEquals(one, null);
      assertNotEquals(one, "text");
      RecordComponent[] components = type.getRecordComponents();
      for (int i = 0; i < components.length; i++) {
        if (components[i].getType().isArray()) {
          arrays++;
          Object other = make(type, i, 8);
          assertNotEquals(one, other, components[i].toString());
          assertNotEquals(one.hashCode(), other.hashCode(), components[i].toString());
          assertTrue(other.toString().matches("(?s).*\\b" + components[i].getName() + "=\\[(1|NaN), 8(\\.0)?].*"),
              other.toString());
        }
      }
    }
    assertTrue(arrays >= 25, arrays + " arrays");
  }

  @Test
  void recordsShowTheBeginningOfLongArrays() {
    assertEquals("Children[codes=[0, 1, 2], end=true]", new Children(new int[] {0, 1, 2}, true).toString());
    assertEquals("Children[codes=[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ... of 17], end=false]",
        new Children(new int[17], false).toString());
  }

  @Test
  void objectsSayWhatTheyAre() {
    Index index = Fixtures.index();
    assertEquals("Index", index.toString());
    index.close();
    assertEquals("Index (closed)", index.toString());
    assertEquals("3 ids", ItemList.ofIds(5, 6, 7).toString());
    assertEquals("1 ids", ItemList.ofNames("a").toString());
    assertEquals("2 item rows", ItemList.ofRows(1, 2).toString());
    assertEquals("price BETWEEN [1, 5]", Term.integers("price", Term.Op.BETWEEN, 1, 5).toString());
    assertEquals("rating LESS [0.5]", Term.numbers("rating", Term.Op.LESS, 0.5).toString());
    assertEquals("new EQUAL true", Term.bool("new", true).toString());
    assertEquals("brand ANY_OF [a, b]", Term.strings("brand", Term.Op.ANY_OF, "a", "b").toString());
    assertEquals("brand ANY_OF []", Term.strings("brand", Term.Op.ANY_OF).toString());
    assertEquals("brand IN [, b]", Term.strings("brand", Term.Op.IN, "", "b").toString());
    assertEquals("id IN [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ... of 1000]",
        Term.integers("id", Term.Op.IN, new long[1000]).toString());
    assertEquals("brand is null", Term.isNull("brand").toString());
  }
}
