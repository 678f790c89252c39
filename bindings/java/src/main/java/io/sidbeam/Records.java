// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.reflect.Array;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.StringJoiner;

/** What records with arrays are equal by, and shown as: Java itself compares arrays by identity. */
final class Records {
  private static final int SHOWN = 16; // elements of an array

  private static final ClassValue<RecordComponent[]> COMPONENTS = new ClassValue<>() {
    @Override
    protected RecordComponent[] computeValue(Class<?> type) {
      return type.getRecordComponents();
    }
  };

  private Records() {}

  static boolean equal(Record one, Object other) {
    return one == other || other != null && one.getClass() == other.getClass()
        && Arrays.deepEquals(values(one), values((Record) other));
  }

  static int hash(Record one) {
    return Arrays.deepHashCode(values(one));
  }

  static String text(Record one) {
    StringJoiner text = new StringJoiner(", ", one.getClass().getSimpleName() + "[", "]");
    RecordComponent[] components = COMPONENTS.get(one.getClass());
    Object[] values = values(one);
    for (int i = 0; i < values.length; i++) {
      text.add(components[i].getName() + "=" + shown(values[i]));
    }
    return text.toString();
  }

  /** A value, or the first elements of an array. */
  static String shown(Object value) {
    if (value == null || !value.getClass().isArray()) {
      return String.valueOf(value);
    }
    StringJoiner text = new StringJoiner(", ", "[", "]");
    int length = Array.getLength(value);
    for (int i = 0; i < Math.min(length, SHOWN); i++) {
      text.add(String.valueOf(Array.get(value, i)));
    }
    return length <= SHOWN ? text.toString() : text.add("... of " + length).toString();
  }

  private static Object[] values(Record one) {
    RecordComponent[] components = COMPONENTS.get(one.getClass());
    Object[] values = new Object[components.length];
    try {
      for (int i = 0; i < values.length; i++) {
        values[i] = components[i].getAccessor().invoke(one);
      }
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e); // they are public, and throw nothing
    }
    return values;
  }
}
