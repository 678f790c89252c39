// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;

/**
 * What owns something native. The handle is a box that outlives the object in it (bindings/flat/handle.h): any call at
 * any time is safe, also beside or after close. A call that passes a handle keeps its object reachable until it is back
 * (reachabilityFence), for the cleaner gives the box back once the object is not.
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
   * Closes the object; again does nothing. May be called while another thread is in a call of it: that call goes on,
   * and the memory is given back when it returns. Later calls fail with {@link Status#BAD_STATE}. An object that is
   * never closed is given back some time after it was last reachable.
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
