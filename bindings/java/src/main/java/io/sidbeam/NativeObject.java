// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * Owner of a native object. The handle is a box that outlives the object in it (bindings/flat/handle.h), so any call at
 * any time is safe, also beside or after close. A call that passes a handle keeps its owner reachable until it returns
 * (reachabilityFence), because the cleaner frees the box of an unreachable owner.
 */
abstract class NativeObject implements AutoCloseable {
  static final Cleaner CLEANER = Cleaner.create();

  final long handle;

  NativeObject(long handle) {
    this.handle = handle;
    CLEANER.register(this, () -> release(handle));
  }

  private static void release(long handle) {
    Native.flat_free(handle);
    Loans.collect();
  }

  /**
   * Closes the object; closing again does nothing. If another thread is inside a call, the call continues, and the
   * memory is given back when it returns. Later calls fail with {@link Status#BAD_STATE}. The memory of an object that
   * is never closed is given back some time after it was last reachable.
   */
  @Override
  public void close() {
    try {
      Native.flat_close(handle);
      Loans.collect();
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  /**
   * Whether {@link #close} was called.
   *
   * @return true once it was
   */
  public final boolean isClosed() {
    try {
      return Native.flat_is_closed(handle) != 0;
    } finally {
      Reference.reachabilityFence(this);
    }
  }
}
