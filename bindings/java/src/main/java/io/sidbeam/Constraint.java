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

  /** The same for a list, which may be null, as any entry may. */
  static Constraint[] of(Catalogue[] catalogues) {
    if (catalogues == null) {
      return null;
    }
    Constraint[] constraints = new Constraint[catalogues.length];
    for (int i = 0; i < catalogues.length; i++) {
      constraints[i] = catalogues[i] == null ? null : of(catalogues[i]);
    }
    return constraints;
  }

  /** Their handles, for a call during which the caller keeps them reachable; 0 for null. */
  static long[] handles(Constraint[] constraints) {
    if (constraints == null) {
      return null;
    }
    long[] handles = new long[constraints.length];
    for (int i = 0; i < handles.length; i++) {
      handles[i] = constraints[i] == null ? 0 : constraints[i].handle;
    }
    return handles;
  }
}
