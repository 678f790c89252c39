// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How the draft of a {@link Runner} is verified. */
public enum Speculate {
  /** Results are the model's own to the bit, whatever the draft. */
  STRICT(Native.SIDBEAM_SPECULATE_STRICT),
  /** By draws, which runners refuse: see {@link Relaxed}. */
  RELAXED(Native.SIDBEAM_SPECULATE_RELAXED);

  final int code;

  Speculate(int code) {
    this.code = code;
  }
}
