// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a session's beams are. */
public enum Mode {
  /** The best SIDs. */
  SEARCH(Native.SIDBEAM_MODE_SEARCH),
  /** Independent draws, by the model's law P over the mass of what was valid on the way: {@link Disc} corrects that. */
  SAMPLE(Native.SIDBEAM_MODE_SAMPLE),
  /** Draws without replacement: stochastic beams. */
  STOCHASTIC(Native.SIDBEAM_MODE_STOCHASTIC);

  final int code;

  Mode(int code) {
    this.code = code;
  }
}
