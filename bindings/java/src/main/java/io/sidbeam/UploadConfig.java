// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How {@link Index#upload} copies; every setter returns this object. */
public final class UploadConfig {
  final int deviceId;
  int kinds;
  boolean verify = true;
  long stream;
  long chunkBytes;
  long bytesPerSecond;

  /**
   * All defaults.
   *
   * @param deviceId number of the CUDA device
   */
  public UploadConfig(int deviceId) {
    this.deviceId = deviceId;
  }

  /**
   * The kinds that strategies need.
   *
   * @param kinds none (the default): all that it has
   * @return this
   */
  public UploadConfig kinds(Kind... kinds) {
    this.kinds = BuilderConfig.bits(java.util.List.of(kinds));
    return this;
  }

  /**
   * Whether the structure is checked on the device.
   *
   * @param verify default true
   * @return this
   */
  public UploadConfig verify(boolean verify) {
    this.verify = verify;
    return this;
  }

  /**
   * Stream of the copies.
   *
   * @param stream a cudaStream_t as a number; 0 (the default): one of the library's own
   * @return this
   */
  public UploadConfig stream(long stream) {
    this.stream = stream;
    return this;
  }

  /**
   * Bytes per copy.
   *
   * @param bytes 4096 .. 2^30; 0 (the default): 8 MiB
   * @return this
   */
  public UploadConfig chunkBytes(long bytes) {
    chunkBytes = bytes;
    return this;
  }

  /**
   * An upper limit of the rate, so that other copies have room.
   *
   * @param bytes per second; 0 (the default): as fast as it goes
   * @return this
   */
  public UploadConfig bytesPerSecond(long bytes) {
    bytesPerSecond = bytes;
    return this;
  }
}
