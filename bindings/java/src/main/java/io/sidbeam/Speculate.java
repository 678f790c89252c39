// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How the draft of a {@link Runner} is verified. */
public enum Speculate {
  /** Results are the model's own to the bit, whatever the draft. */
  STRICT(Native.SIDBEAM_SPECULATE_STRICT),
  /** Draws by the model's distribution: see {@link RunnerConfig#speculate}. */
  RELAXED(Native.SIDBEAM_SPECULATE_RELAXED);

  final int code;

  Speculate(int code) {
    this.code = code;
  }
}
