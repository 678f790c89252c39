// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.ArrayList;
import java.util.List;

/** Values of one attribute for the pairs of one {@link Builder#add}. */
public final class AttributeValues {
  final long count;
  byte[] valid;
  long[] integers;
  float[] numbers;
  byte[] bools;
  byte[] text;
  long[] offsets;
  long[] lists;

  private AttributeValues(long count) {
    this.count = count;
  }

  /**
   * Values of {@link AttributeType#I64}.
   *
   * @param values [count]
   * @return new values
   */
  public static AttributeValues of(long... values) {
    AttributeValues made = new AttributeValues(Buffers.given(values, "values").length);
    made.integers = values.clone();
    return made;
  }

  /**
   * Values of {@link AttributeType#F32}.
   *
   * @param values [count]
   * @return new values
   */
  public static AttributeValues of(float... values) {
    AttributeValues made = new AttributeValues(Buffers.given(values, "values").length);
    made.numbers = values.clone();
    return made;
  }

  /**
   * Values of {@link AttributeType#BOOL}.
   *
   * @param values [count]
   * @return new values
   */
  public static AttributeValues of(boolean... values) {
    AttributeValues made = new AttributeValues(Buffers.given(values, "values").length);
    made.bools = bytes(values);
    return made;
  }

  /**
   * Values of {@link AttributeType#STRING}.
   *
   * @param values [count]; null: the pair has none
   * @return new values
   */
  public static AttributeValues ofStrings(List<String> values) {
    AttributeValues made = new AttributeValues(Buffers.given(values, "values").size());
    made.valid = new byte[values.size()];
    List<String> all = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      made.valid[i] = (byte) (values.get(i) == null ? 0 : 1);
      all.add(values.get(i) == null ? "" : values.get(i));
    }
    made.put(all);
    return made;
  }

  /**
   * Values of {@link AttributeType#STRING_LIST}.
   *
   * @param values [count]; null: the pair has none
   * @return new values
   */
  public static AttributeValues ofLists(List<? extends List<String>> values) {
    AttributeValues made = new AttributeValues(Buffers.given(values, "values").size());
    made.valid = new byte[values.size()];
    made.lists = new long[values.size() + 1];
    List<String> all = new ArrayList<>();
    for (int i = 0; i < values.size(); i++) {
      made.valid[i] = (byte) (values.get(i) == null ? 0 : 1);
      if (values.get(i) != null) {
        for (String one : values.get(i)) {
          all.add(Buffers.given(one, "a string of values[" + i + "]"));
        }
      }
      made.lists[i + 1] = all.size();
    }
    made.put(all);
    return made;
  }

  /**
   * Says which pairs have a value.
   *
   * @param valid [count] false: null
   * @return this
   */
  public AttributeValues valid(boolean... valid) {
    this.valid = bytes(Buffers.given(valid, "valid"));
    return this;
  }

  private static byte[] bytes(boolean[] flags) {
    byte[] bytes = new byte[flags.length];
    for (int i = 0; i < flags.length; i++) {
      bytes[i] = (byte) (flags[i] ? 1 : 0);
    }
    return bytes;
  }

  private void put(List<String> all) {
    Text.Joined joined = Text.join(all, "values");
    text = joined.bytes();
    offsets = joined.offsets();
  }
}
