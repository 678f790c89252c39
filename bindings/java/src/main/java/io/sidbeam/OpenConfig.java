// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How {@link Index#open} opens; every setter returns this object. */
public final class OpenConfig {
  Runtime runtime;
  Residency residency = Residency.MAP;
  Verify verify = Verify.HEADER;

  /** All defaults: mapped, with the header checked, in the default runtime. */
  public OpenConfig() {}

  /**
   * The runtime that the index belongs to.
   *
   * @param runtime null: the default
   * @return this
   */
  public OpenConfig runtime(Runtime runtime) {
    this.runtime = runtime;
    return this;
  }

  /**
   * Where the file lives.
   *
   * @param residency default {@link Residency#MAP}
   * @return this
   */
  public OpenConfig residency(Residency residency) {
    this.residency = Buffers.given(residency, "residency");
    return this;
  }

  /**
   * How much is checked.
   *
   * @param verify default {@link Verify#HEADER}
   * @return this
   */
  public OpenConfig verify(Verify verify) {
    this.verify = Buffers.given(verify, "verify");
    return this;
  }
}
