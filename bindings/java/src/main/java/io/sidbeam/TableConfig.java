// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a {@link Table} is made of; every setter returns this object. */
public final class TableConfig {
  final Catalogue[] catalogues;
  Runtime runtime;
  Vocabulary vocabulary = new Vocabulary();
  int deviceType = Native.SIDBEAM_DEVICE_CPU;
  int deviceId;

  /**
   * A table on the CPU.
   *
   * @param catalogues held by the table; each needs {@link Kind#TRIE}. A row names one by its place here
   */
  public TableConfig(Catalogue... catalogues) {
    this.catalogues = catalogues.clone();
  }

  /**
   * The runtime.
   *
   * @param runtime null: the default
   * @return this
   */
  public TableConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * Where codes stand in a row.
   *
   * @param vocabulary read when the table is made; the default: code t is column t
   * @return this
   */
  public TableConfig vocabulary(Vocabulary vocabulary) {
    this.vocabulary = Buffers.given(vocabulary, "vocabulary");
    return this;
  }

  /**
   * Puts the table on a CUDA device; indexes are uploaded where they are not there.
   *
   * @param deviceId number of the device
   * @return this
   */
  public TableConfig cuda(int deviceId) {
    deviceType = Native.SIDBEAM_DEVICE_CUDA;
    this.deviceId = deviceId;
    return this;
  }
}
