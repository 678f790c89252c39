// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;

/**
 * What a beam must stay inside: today a whole index. It holds the index, which may be closed before it. Immutable; any
 * threads may use it.
 */
public final class Constraint extends NativeObject implements Catalogue {
  /**
   * Makes a constraint of all of an index.
   *
   * @param index held
   */
  public Constraint(Index index) {
    super(create(Buffers.given(index, "index")));
  }

  private static long create(Index index) {
    try {
      return Native.flat_constraint_create(index.handle);
    } finally {
      Reference.reachabilityFence(index);
    }
  }

  /**
   * Levels, codes and kinds.
   *
   * @return a snapshot, read once
   */
  public ConstraintInfo info() {
    long[] numbers = new long[Native.FLAT_CONSTRAINT_COUNT];
    byte[] fingerprint = new byte[IndexInfo.FINGERPRINT_BYTES];
    try {
      Native.flat_constraint_get_info(handle, numbers, fingerprint);
    } finally {
      Reference.reachabilityFence(this);
    }
    return ConstraintInfo.of(numbers, fingerprint);
  }

  /** A catalogue as a constraint: itself, or the one that an index keeps. */
  static Constraint of(Catalogue catalogue) {
    return catalogue instanceof Index index ? index.constraint() : (Constraint) catalogue;
  }
}
