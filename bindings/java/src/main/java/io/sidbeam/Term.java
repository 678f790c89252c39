// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A question to one attribute of the items. A row that is null fails all but {@link #isNull}. Immutable. */
public final class Term {
  /** What is asked. */
  public enum Op {
    /** One of any number of values; of a list of strings, that it has one of them. */
    ANY_OF(Native.FLAT_TERM_ANY_OF),
    /** One value. */
    EQUAL(Native.SIDBEAM_TERM_EQUAL),
    /** One value. */
    NOT_EQUAL(Native.SIDBEAM_TERM_NOT_EQUAL),
    /** One value. */
    LESS(Native.SIDBEAM_TERM_LESS),
    /** One value. */
    AT_MOST(Native.SIDBEAM_TERM_AT_MOST),
    /** One value. */
    GREATER(Native.SIDBEAM_TERM_GREATER),
    /** One value. */
    AT_LEAST(Native.SIDBEAM_TERM_AT_LEAST),
    /** Any number of values. */
    IN(Native.SIDBEAM_TERM_IN),
    /** Two values, which count too. */
    BETWEEN(Native.SIDBEAM_TERM_BETWEEN),
    /** A list that has one of any number of values. */
    CONTAINS(Native.SIDBEAM_TERM_CONTAINS);

    final int code;

    Op(int code) {
      this.code = code;
    }
  }

  final byte[] attribute;
  final int op;
  final long[] integers;
  final long[] doubleBits;
  final byte[] bools;
  final byte[] strings;

  private Term(String attribute, int op, long[] integers, long[] doubleBits, byte[] bools, byte[] strings) {
    this.attribute = Text.in(Buffers.given(attribute, "attribute"), "attribute");
    this.op = op;
    this.integers = integers;
    this.doubleBits = doubleBits;
    this.bools = bools;
    this.strings = strings;
  }

  private static int code(Op op) {
    return Buffers.given(op, "op").code;
  }

  /**
   * A term of integers.
   *
   * @param attribute its name
   * @param op what is asked
   * @param values of the operator
   * @return the term
   */
  public static Term integers(String attribute, Op op, long... values) {
    return new Term(attribute, code(op), values.clone(), null, null, null);
  }

  /**
   * A term of numbers, which are rounded to 32 bits, as those of the attribute were. An attribute of integers takes
   * those that are whole.
   *
   * @param attribute its name
   * @param op what is asked
   * @param values of the operator; not NaN
   * @return the term
   */
  public static Term numbers(String attribute, Op op, double... values) {
    long[] bits = Arrays.stream(values).mapToLong(Double::doubleToRawLongBits).toArray();
    return new Term(attribute, code(op), null, bits, null, null);
  }

  /**
   * That a bool has a value.
   *
   * @param attribute its name
   * @param value that it has
   * @return the term
   */
  public static Term bool(String attribute, boolean value) {
    return new Term(attribute, Op.EQUAL.code, null, null, new byte[] {(byte) (value ? 1 : 0)}, null);
  }

  /**
   * A term of strings, which compare by bytes.
   *
   * @param attribute its name
   * @param op what is asked
   * @param values of the operator
   * @return the term
   */
  public static Term strings(String attribute, Op op, String... values) {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    for (int i = 0; i < values.length; i++) {
      String name = "values[" + i + "]";
      bytes.writeBytes(Text.in(Buffers.given(values[i], name), name));
    }
    return new Term(attribute, code(op), null, null, null, bytes.toByteArray());
  }

  /**
   * That an item has no value.
   *
   * @param attribute its name
   * @return the term
   */
  public static Term isNull(String attribute) {
    return new Term(attribute, Native.SIDBEAM_TERM_IS_NULL, null, null, null, null);
  }

  /** For people: the attribute, what is asked, and its values. */
  @Override
  public String toString() {
    String name = text(attribute)[0];
    if (op == Native.SIDBEAM_TERM_IS_NULL) {
      return name + " is null";
    }
    Op asked = Arrays.stream(Op.values()).filter(one -> one.code == op).findFirst().orElseThrow();
    return name + " " + asked + " " + Records.shown(values());
  }

  private Object values() {
    if (integers != null) {
      return integers;
    }
    if (doubleBits != null) {
      return Arrays.stream(doubleBits).mapToDouble(Double::longBitsToDouble).toArray();
    }
    return bools != null ? (Object) (bools[0] != 0) : text(strings);
  }

  /** Texts that end with NUL each. */
  private static String[] text(byte[] bytes) {
    if (bytes.length == 0) {
      return new String[0];
    }
    return new String(bytes, 0, bytes.length - 1, StandardCharsets.UTF_8).split("\0", -1);
  }
}
