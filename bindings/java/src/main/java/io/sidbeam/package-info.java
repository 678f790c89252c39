// SPDX-License-Identifier: Apache-2.0

/**
 * Beam search over Semantic IDs that returns only items that exist: sidbeam for Java 17 and later.
 *
 * <p>{@link io.sidbeam.Builder} makes an {@link io.sidbeam.Index} of a catalogue, {@link io.sidbeam.Session} searches
 * it, one level per step, and {@link io.sidbeam.ConstraintSet} is for engines that own the loop. samples/Minimal.java
 * is a complete program. Where the library runs the model too, a {@link io.sidbeam.Runner} over a
 * {@link io.sidbeam.Model} takes the tokens of a history and gives the items.
 *
 * <p>Where items come and go while the index serves, it is that of a live {@link io.sidbeam.Catalog}: {@code
 * catalog.add(pairs)}, {@code catalog.remove(items)}, {@code catalog.publish()}, then a session over {@code
 * catalog.snapshot()}.
 *
 * <p>Failures are {@link io.sidbeam.SidbeamException}s, with a {@link io.sidbeam.Status} and a message of one line.
 * Buffers are direct and in the machine's order ({@link io.sidbeam.Buffers}); they are used in place, from position to
 * limit, and lent for the call. Everything that owns memory is {@link java.lang.AutoCloseable}: closing twice, closing
 * while a call runs and using what is closed are all safe.
 *
 * <p>The native part, libsidbeam_java.so and libsidbeam.so.1 beside it (and libsidbeam_runner.so.1, with the first
 * model, draft head or output layer), is loaded with the first use, from
 * <ol>
 * <li>the folder that property {@code sidbeam.native.path} names, and then nowhere else;
 * <li>the system's library path alone, where property {@code sidbeam.native.system} is true;
 * <li>the class path, from this jar: extracted to a new folder, which is removed once the library is loaded. Its parent
 * is property {@code sidbeam.native.extract}, else the environment's {@code SIDBEAM_NATIVE_DIR}, else {@code
 * java.io.tmpdir}; it must not be mounted noexec;
 * <li>the system's library path.
 * </ol>
 * An {@link java.lang.UnsatisfiedLinkError} says what was tried. A library of another ABI version is refused.
 */
package io.sidbeam;
