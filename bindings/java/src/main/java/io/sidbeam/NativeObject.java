// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.lang.reflect.Modifier;

/**
 * Owner of a native object. The handle is a box that outlives the object in it (bindings/flat/handle.h), so any call at
 * any time is safe, also beside or after close. A call that passes a handle keeps its owner reachable until it returns
 * (reachabilityFence), because the cleaner frees the box of an unreachable owner.
 */
abstract class NativeObject implements AutoCloseable {
  static final Cleaner CLEANER = Cleaner.create();

  /** Of objects that are collected without having been closed: "warn", "trace" (and where they were made), "off". */
  private static final String LEAKS = System.getProperty("sidbeam.leaks", "warn");

  final long handle;
  private final Release release;

  NativeObject(long handle) {
    this.handle = handle;
    boolean watched = !LEAKS.equals("off") && Modifier.isPublic(getClass().getModifiers());
    Throwable made = watched && LEAKS.equals("trace") ? new Throwable("made here") : null;
    release = new Release(handle, watched ? getClass().getSimpleName() : null, made);
    CLEANER.register(this, release);
  }

  /** Frees the box of an owner that is gone, and tells of one that was never closed. */
  private static final class Release implements Runnable {
    private final long handle;
    private volatile String owner; // null: nobody is told
    private final Throwable made; // null: that is not known

    Release(long handle, String owner, Throwable made) {
      this.handle = handle;
      this.owner = owner;
      this.made = made;
    }

    @Override
    public void run() {
      boolean leaked = owner != null && Native.flat_is_closed(handle) == 0;
      Native.flat_free(handle);
      Loans.collect();
      if (leaked) {
        Log.warn(owner + " was not closed before it was collected"
            + (made == null ? "; -Dsidbeam.leaks=trace tells where it was made" : ""), made);
      }
    }
  }

  /** Nobody is told that this object was not closed: its owner is. */
  final void ownedByAnother() {
    release.owner = null;
  }

  /**
   * Closes the object; closing again does nothing. If another thread is inside a call, the call continues, and the
   * memory is given back when it returns. Later calls fail with {@link Status#BAD_STATE}. The memory of an object that
   * is never closed is given back some time after it was last reachable, and the System.Logger "io.sidbeam" is told.
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

  /** The kind of object, and whether it is closed. */
  @Override
  public String toString() {
    return getClass().getSimpleName() + (isClosed() ? " (closed)" : "");
  }
}
