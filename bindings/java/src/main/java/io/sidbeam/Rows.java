// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * Logits or log-probabilities, read in place: neither copied nor converted. Immutable: make one for each buffer that
 * the model writes to and use it for every step.
 *
 * <p>Shape: [slots, rows, columns], where beam m of the i-th slot of a call has the logits row (i, m) (a slot that
 * has only just started reads that of beam 0 alone); or, with slots 0, [rows, columns], with a row map that names each
 * beam's logits row. Element (i, r, c) is i * slotStride + r * rowStride + c elements after the buffer's position as it
 * was when this was made.
 */
public final class Rows {
  /** The stride of what is the same for all: all beams of a slot, or all slots, read the same logits row. */
  public static final long BROADCAST = Long.MIN_VALUE;

  final Object memory;
  final boolean readOnly;
  final long elements;
  final int dtype;
  final int deviceType;
  final int deviceId;
  final long slots;
  final long rows;
  final long columns;
  final long slotStride;
  final long rowStride;

  private Rows(Object memory, boolean readOnly, long elements, DType dtype, int deviceType, int deviceId,
      long[] shape) {
    this.memory = memory;
    this.readOnly = readOnly;
    this.elements = elements;
    this.dtype = Buffers.given(dtype, "dtype").code;
    this.deviceType = deviceType;
    this.deviceId = deviceId;
    slots = shape[0];
    rows = shape[1];
    columns = shape[2];
    slotStride = shape[3];
    rowStride = shape[4];
  }

  private static long[] dense(long slots, long rows, long columns) {
    if (rows < 0 || columns < 0 || Math.multiplyHigh(rows, columns) != 0 || rows * columns < 0) {
      throw SidbeamException.invalid(rows + " rows of " + columns + " columns are more than any memory holds");
    }
    return new long[] {slots, rows, columns, rows * columns, columns};
  }

  /**
   * Floats, dense.
   *
   * @param logits direct, in the machine's order, from its position on; may be read-only
   * @param slots 0: rows are named by a row map
   * @param rows of a slot, or, with slots 0, of all
   * @param columns of a row
   * @return a description that holds the buffer
   */
  public static Rows dense(FloatBuffer logits, long slots, long rows, long columns) {
    return floats(logits, dense(slots, rows, columns));
  }

  /**
   * Floats at any strides; 0 is dense, and {@link #BROADCAST} lets every beam, or every slot, read the same logits row.
   *
   * @param logits direct, in the machine's order, from its position on; may be read-only
   * @param slots 0: rows are named by a row map
   * @param rows of a slot, or, with slots 0, of all
   * @param columns of a row, which are side by side
   * @param slotStride elements from slot to slot, at least 0
   * @param rowStride elements from row to row, at least 0
   * @return a description that holds the buffer
   */
  public static Rows strided(FloatBuffer logits, long slots, long rows, long columns, long slotStride, long rowStride) {
    return floats(logits, new long[] {slots, rows, columns, slotStride, rowStride});
  }

  private static Rows floats(FloatBuffer logits, long[] shape) {
    FloatBuffer slice = Buffers.in(Buffers.given(logits, "logits"), "logits").slice();
    return host(slice, slice.remaining(), DType.F32, shape);
  }

  /**
   * Elements of any type, dense.
   *
   * @param logits direct, order(ByteOrder.nativeOrder()), from its position on, which is at a multiple of an element
   * @param dtype what its elements are
   * @param slots 0: rows are named by a row map
   * @param rows of a slot, or, with slots 0, of all
   * @param columns of a row
   * @return a description that holds the buffer
   */
  public static Rows dense(ByteBuffer logits, DType dtype, long slots, long rows, long columns) {
    return bytes(logits, dtype, dense(slots, rows, columns));
  }

  /**
   * Elements of any type at any strides.
   *
   * @param logits direct, order(ByteOrder.nativeOrder()), from its position on, which is at a multiple of an element
   * @param dtype what its elements are
   * @param slots 0: rows are named by a row map
   * @param rows of a slot, or, with slots 0, of all
   * @param columns of a row, which are side by side
   * @param slotStride elements from slot to slot, at least 0
   * @param rowStride elements from row to row, at least 0
   * @return a description that holds the buffer
   */
  public static Rows strided(ByteBuffer logits, DType dtype, long slots, long rows, long columns, long slotStride,
      long rowStride) {
    return bytes(logits, dtype, new long[] {slots, rows, columns, slotStride, rowStride});
  }

  private static Rows bytes(ByteBuffer logits, DType dtype, long[] shape) {
    Buffers.check(Buffers.given(logits, "logits"), logits.order(), 1, "logits");
    int width = Buffers.given(dtype, "dtype").bytes;
    if (logits.alignmentOffset(logits.position(), width) != 0) {
      throw SidbeamException.invalid("logits lies at an address that is no multiple of " + width + ", the bytes of "
          + dtype);
    }
    ByteBuffer slice = logits.slice();
    return host(slice, slice.remaining() / width, dtype, shape);
  }

  private static Rows host(Buffer slice, long elements, DType dtype, long[] shape) {
    return new Rows(slice, slice.isReadOnly(), elements, dtype, Native.SIDBEAM_DEVICE_CPU, 0, shape);
  }

  /**
   * Elements in a CUDA device's memory, at any strides.
   *
   * @param logits where they are
   * @param deviceId number of the device
   * @param dtype what they are
   * @param slots 0: rows are named by a row map
   * @param rows of a slot, or, with slots 0, of all
   * @param columns of a row, which are side by side
   * @param slotStride elements from slot to slot, at least 0
   * @param rowStride elements from row to row, at least 0
   * @return a description
   */
  public static Rows device(DevicePointer logits, int deviceId, DType dtype, long slots, long rows, long columns,
      long slotStride, long rowStride) {
    return new Rows(Buffers.given(logits, "logits"), false, logits.count(), dtype, Native.SIDBEAM_DEVICE_CUDA, deviceId,
        new long[] {slots, rows, columns, slotStride, rowStride});
  }
}
