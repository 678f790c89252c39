// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * Buffers as this library takes them: direct, in the machine's byte order. Every call reads or writes a buffer from its
 * position to its limit and leaves both as they are; one that is too short is refused.
 */
public final class Buffers {
  private static final ByteOrder NATIVE = ByteOrder.nativeOrder();

  private Buffers() {}

  /**
   * A new buffer of bytes, all 0, at an address that is a multiple of 64.
   *
   * @param count bytes
   * @return direct, in the machine's order
   */
  public static ByteBuffer bytes(int count) {
    ByteBuffer all = ByteBuffer.allocateDirect(Math.addExact(count, 63));
    return all.slice((64 - all.alignmentOffset(0, 64)) % 64, count).order(NATIVE);
  }

  /**
   * A new buffer of ints, all 0.
   *
   * @param count elements
   * @return direct, in the machine's order
   */
  public static IntBuffer ints(int count) {
    return bytes(Math.multiplyExact(count, Integer.BYTES)).asIntBuffer();
  }

  /**
   * A new buffer of longs, all 0.
   *
   * @param count elements
   * @return direct, in the machine's order
   */
  public static LongBuffer longs(int count) {
    return bytes(Math.multiplyExact(count, Long.BYTES)).asLongBuffer();
  }

  /**
   * A new buffer of floats, all 0.
   *
   * @param count elements
   * @return direct, in the machine's order
   */
  public static FloatBuffer floats(int count) {
    return bytes(Math.multiplyExact(count, Float.BYTES)).asFloatBuffer();
  }

  /**
   * A new buffer that holds the given values.
   *
   * @param values copied
   * @return direct, in the machine's order
   */
  public static IntBuffer ints(int[] values) {
    return ints(values.length).put(0, values);
  }

  /**
   * A new buffer that holds the given values.
   *
   * @param values copied
   * @return direct, in the machine's order
   */
  public static LongBuffer longs(long[] values) {
    return longs(values.length).put(0, values);
  }

  /**
   * A new buffer that holds the given values.
   *
   * @param values copied
   * @return direct, in the machine's order
   */
  public static FloatBuffer floats(float[] values) {
    return floats(values.length).put(0, values);
  }

  static IntBuffer in(IntBuffer buffer, String name) {
    return buffer == null ? null : check(buffer, buffer.order(), Integer.BYTES, name);
  }

  static LongBuffer in(LongBuffer buffer, String name) {
    return buffer == null ? null : check(buffer, buffer.order(), Long.BYTES, name);
  }

  static FloatBuffer in(FloatBuffer buffer, String name) {
    return buffer == null ? null : check(buffer, buffer.order(), Float.BYTES, name);
  }

  static ByteBuffer in(ByteBuffer buffer, String name) {
    return buffer == null ? null : check(buffer, NATIVE, 1, name);
  }

  static IntBuffer out(IntBuffer buffer, String name) {
    return writable(in(buffer, name), name);
  }

  static LongBuffer out(LongBuffer buffer, String name) {
    return writable(in(buffer, name), name);
  }

  static FloatBuffer out(FloatBuffer buffer, String name) {
    return writable(in(buffer, name), name);
  }

  static ByteBuffer out(ByteBuffer buffer, String name) {
    return writable(in(buffer, name), name);
  }

  static <B extends Buffer> B check(B buffer, ByteOrder order, int width, String name) {
    if (!buffer.isDirect()) {
      throw SidbeamException.invalid(name
          + " is a heap buffer, expected a direct one, as of Buffers or allocateDirect");
    }
    if (order != NATIVE) {
      throw SidbeamException.invalid(name + " is in " + order + " order, expected " + NATIVE
          + ": ByteBuffer.order(ByteOrder.nativeOrder())");
    }
    long address = Native.java_address(buffer);
    if (address == 0) {
      throw SidbeamException.invalid(name + " has no address, expected memory that native code can read");
    }
    if (address % width != 0) {
      throw SidbeamException.invalid(name + " lies at an address that is no multiple of " + width
          + ", the bytes of an element");
    }
    return buffer;
  }

  private static <B extends Buffer> B writable(B buffer, String name) {
    if (buffer != null && buffer.isReadOnly()) {
      throw SidbeamException.invalid(name + " is read-only, expected a buffer to write to");
    }
    return buffer;
  }

  static <T> T given(T argument, String name) {
    if (argument == null) {
      throw SidbeamException.invalid(name + " is null");
    }
    return argument;
  }
}
