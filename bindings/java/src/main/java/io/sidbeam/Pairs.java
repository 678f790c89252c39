// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * (SID, item) pairs for {@link Catalog#add}, with what is known of the items; every setter returns this object. Arrays
 * and buffers are read by the call, not here.
 */
public final class Pairs {
  final Object codes;
  Object lengths;
  Object ids;
  Text.Joined names = new Text.Joined(null, null);
  Object priorities;
  final Map<String, AttributeValues> attributes = new LinkedHashMap<>();

  /**
   * Pairs of these SIDs.
   *
   * @param codes [count, levels]
   */
  public Pairs(int... codes) {
    this.codes = Buffers.given(codes, "codes");
  }

  /**
   * Pairs of these SIDs, without a copy on the way.
   *
   * @param codes [count, levels]
   */
  public Pairs(IntBuffer codes) {
    this.codes = Buffers.in(Buffers.given(codes, "codes"), "codes");
  }

  /**
   * The codes of each SID.
   *
   * @param lengths [count]; null (the default): all levels
   * @return this
   */
  public Pairs lengths(int... lengths) {
    this.lengths = lengths;
    return this;
  }

  /**
   * The same from a buffer.
   *
   * @param lengths [count]
   * @return this
   */
  public Pairs lengths(IntBuffer lengths) {
    this.lengths = Buffers.in(lengths, "lengths");
    return this;
  }

  /**
   * The items, where ids are integers.
   *
   * @param ids [count] unsigned ids as the same bits
   * @return this
   */
  public Pairs ids(long... ids) {
    this.ids = ids;
    return this;
  }

  /**
   * The same from a buffer.
   *
   * @param ids [count]
   * @return this
   */
  public Pairs ids(LongBuffer ids) {
    this.ids = Buffers.in(ids, "ids");
    return this;
  }

  /**
   * The items, where ids are strings.
   *
   * @param names [count]
   * @return this
   */
  public Pairs names(List<String> names) {
    this.names = Text.join(Buffers.given(names, "names"), "names");
    return this;
  }

  /**
   * Priorities, of which higher ones come first within a SID.
   *
   * @param priorities [count]; null (the default): 0, or what a pair that is live has
   * @return this
   */
  public Pairs priorities(long... priorities) {
    this.priorities = priorities;
    return this;
  }

  /**
   * The same from a buffer.
   *
   * @param priorities [count]
   * @return this
   */
  public Pairs priorities(LongBuffer priorities) {
    this.priorities = Buffers.in(priorities, "priorities");
    return this;
  }

  /**
   * Values of an attribute of the base.
   *
   * @param name of the attribute
   * @param values [count], of its type
   * @return this
   */
  public Pairs attribute(String name, AttributeValues values) {
    attributes.put(Buffers.given(name, "name"), Buffers.given(values, "values"));
    return this;
  }

  /** The number of pairs as of now: a buffer's limits may have changed since it was given. */
  int count(int levels) {
    int elements = codes instanceof IntBuffer buffer ? buffer.remaining() : ((int[]) codes).length;
    if (elements % levels != 0) {
      throw SidbeamException.invalid("codes has " + elements + " elements, expected a multiple of the " + levels
          + " levels");
    }
    names.ofPairs(elements / levels);
    return elements / levels;
  }

  /** The values of attributes for one call, in C's memory. */
  static final class Columns extends NativeObject {
    Columns(Map<String, AttributeValues> attributes) {
      super(Native.flat_columns_create());
      attributes.forEach((name, v) -> Native.flat_columns_put(handle, Text.in(name, "name"), v.count, v.valid,
          v.integers, v.numbers, v.bools, v.text, v.offsets, v.lists, null));
    }
  }
}
