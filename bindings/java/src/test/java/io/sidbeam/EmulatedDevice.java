// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.ByteBuffer;
import java.nio.file.Path;

/** Memory of the emulator of tests/gpu, in place of a GPU's. Never freed: tests are short. */
final class EmulatedDevice {
  static {
    System.load(Path.of(System.getProperty("sidbeam.test.emulated")).toAbsolutePath().toString());
  }

  private EmulatedDevice() {}

  private static native long allocate(long bytes);

  /** A new stream, which the default one neither waits for nor holds up; 0: none. Never destroyed. */
  static native long stream();

  /** Until the end, what is enqueued on the stream is not done; the end throws the graph away. */
  static native boolean capture(long stream, boolean end);

  private static native boolean copy(long address, java.nio.Buffer host, long bytes, boolean toHost);

  private static DevicePointer put(java.nio.Buffer values, int count, int width) {
    long address = allocate((long) count * width);
    if (!copy(address, values, (long) count * width, false)) {
      throw new IllegalStateException("the emulator refuses a copy");
    }
    return new DevicePointer(address, count);
  }

  static DevicePointer ints(int... values) {
    return put(Buffers.ints(values), values.length, Integer.BYTES);
  }

  static DevicePointer longs(long... values) {
    return put(Buffers.longs(values), values.length, Long.BYTES);
  }

  static DevicePointer floats(float... values) {
    return put(Buffers.floats(values), values.length, Float.BYTES);
  }

  /** What the device's memory holds once all work is done. */
  static ByteBuffer read(DevicePointer array, int width) {
    ByteBuffer host = Buffers.bytes(Math.toIntExact(array.count() * width));
    if (!copy(array.address(), host, host.capacity(), true)) {
      throw new IllegalStateException("the emulator refuses a copy");
    }
    return host;
  }
}
