// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** Where an opened file lives. Replacing a mapped file by rename is safe; truncating or overwriting it in place is not,
 * and {@link #COPY} is there for those who cannot exclude it. */
public enum Residency {
  /** Mapped; pages come in when they are first read. */
  MAP(Native.SIDBEAM_RESIDENCY_MAP),
  /** Mapped, and every page read before open returns. */
  PREFAULT(Native.SIDBEAM_RESIDENCY_PREFAULT),
  /** As {@link #PREFAULT}, and locked in memory (needs the limit for it, see ulimit -l). */
  LOCK(Native.SIDBEAM_RESIDENCY_LOCK),
  /** Read into memory, on huge pages where the system has them; the file is closed. */
  COPY(Native.SIDBEAM_RESIDENCY_COPY);

  final int code;

  Residency(int code) {
    this.code = code;
  }
}
