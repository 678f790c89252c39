// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/**
 * An array in a CUDA device's memory: sessions and constraint sets on a device take it in place of buffers. It does not
 * own the memory, which must live until the work that reads it is done.
 *
 * @param address of its first element, as cudaMalloc gives it
 * @param count elements from there on
 */
public record DevicePointer(long address, long count) {
  /**
   * Refuses address 0 and a count below 0.
   *
   * @param address of its first element
   * @param count elements from there on
   */
  public DevicePointer {
    if (address == 0 || count < 0) {
      throw SidbeamException.invalid("device pointer is " + address + " with " + count
          + " elements, expected an address other than 0 and a count of at least 0");
    }
  }

  /** On the CPU, a device's address would be read as the host's. */
  static void check(int deviceType, Object array, String name) {
    if (deviceType == Native.SIDBEAM_DEVICE_CPU && array instanceof DevicePointer) {
      throw SidbeamException.invalid(name + " is in a device's memory, expected a buffer: this is on the CPU");
    }
  }
}
