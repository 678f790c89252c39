// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** What a builder does where several items share a SID. */
public enum Collisions {
  /** Keeps all of them, by priority falling, then id rising. */
  KEEP(Native.SIDBEAM_COLLISIONS_KEEP),
  /** Fails with {@link Status#COLLISION}, naming the SID. */
  ERROR(Native.SIDBEAM_COLLISIONS_ERROR),
  /** Keeps only the first in that order. */
  FIRST(Native.SIDBEAM_COLLISIONS_FIRST);

  final int code;

  Collisions(int code) {
    this.code = code;
  }
}
