// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.util.Set;

/**
 * Views of a session's arrays: read-only direct buffers over its own memory, S slots of M beams, live ones first.
 * Contents change with start, step and stop, so the thread that steps reads them. The memory lives as long as any of
 * these buffers, slices and duplicates included, even after the session is closed.
 */
public final class Beams {
  private final int slots;
  private final int width;
  private final IntBuffer parents;
  private final IntBuffer codes;
  private final FloatBuffer scores;
  private final LongBuffer states;
  private final IntBuffer live;
  private final IntBuffer active;
  private final IntBuffer level;
  private final IntBuffer errors;
  private final FloatBuffer logMasses;
  private final FloatBuffer perturbed;
  private final FloatBuffer logInclusions;
  private final FloatBuffer thresholds;

  Beams(long session, long[] layout) {
    slots = (int) layout[Native.FLAT_BEAMS_SLOTS];
    width = (int) layout[Native.FLAT_BEAMS_BEAMS];
    long all = (long) slots * width;
    parents = view(session, layout[Native.FLAT_BEAMS_PARENTS], all * Integer.BYTES).asIntBuffer();
    codes = view(session, layout[Native.FLAT_BEAMS_CODES], all * Integer.BYTES).asIntBuffer();
    scores = view(session, layout[Native.FLAT_BEAMS_SCORES], all * Float.BYTES).asFloatBuffer();
    states = view(session, layout[Native.FLAT_BEAMS_STATES], all * Long.BYTES)
        .asLongBuffer();
    live = view(session, layout[Native.FLAT_BEAMS_LIVE], (long) slots * Integer.BYTES).asIntBuffer();
    active = view(session, layout[Native.FLAT_BEAMS_ACTIVE], (long) slots * Integer.BYTES).asIntBuffer();
    level = view(session, layout[Native.FLAT_BEAMS_LEVEL], (long) slots * Integer.BYTES).asIntBuffer();
    errors = view(session, layout[Native.FLAT_BEAMS_ERRORS], (long) slots * Integer.BYTES).asIntBuffer();
    logMasses = floats(session, layout[Native.FLAT_BEAMS_LOG_MASSES], all);
    perturbed = floats(session, layout[Native.FLAT_BEAMS_PERTURBED], all);
    logInclusions = floats(session, layout[Native.FLAT_BEAMS_LOG_INCLUSIONS], all);
    thresholds = floats(session, layout[Native.FLAT_BEAMS_THRESHOLDS], slots);
  }

  /** Of an array that only some modes have: null where there is none. */
  private static FloatBuffer floats(long session, long address, long count) {
    return address == 0 ? null : view(session, address, count * Float.BYTES).asFloatBuffer();
  }

  /**
   * A buffer that holds the memory of a session or a speculation. Buffers made from a buffer hold it in turn, so that
   * the cleaner waits for the last of them; it must not know the buffer itself.
   */
  static ByteBuffer view(long owner, long address, long bytes) {
    Native.flat_view_retain(owner); // fails if the owner is closed; until then the address was good
    ByteBuffer root = (ByteBuffer) Native.java_view(address, bytes);
    NativeObject.CLEANER.register(root, () -> release(owner));
    return root.asReadOnlyBuffer().order(ByteOrder.nativeOrder());
  }

  private static void release(long owner) {
    Native.flat_view_release(owner);
    Loans.collect();
  }

  /**
   * Slots of the session.
   *
   * @return S
   */
  public int slots() {
    return slots;
  }

  /**
   * Beams of a slot.
   *
   * @return M
   */
  public int width() {
    return width;
  }

  /**
   * Beam of the previous level that each continues: reorder the KV cache by it.
   *
   * @return [S, M], -1 dead; always the same buffer, so use absolute gets, or a duplicate
   */
  public IntBuffer parents() {
    return parents;
  }

  /**
   * Code that each beam chose: feed it to the model. The number of codes of the level stands for the end.
   *
   * @return [S, M], -1 dead, or ended before; always the same buffer
   */
  public IntBuffer codes() {
    return codes;
  }

  /**
   * Cumulative log-probabilities.
   *
   * @return [S, M], falling in mode SEARCH, -inf dead; always the same buffer
   */
  public FloatBuffer scores() {
    return scores;
  }

  /**
   * Places in the trie, opaque: see {@link ConstraintSet}.
   *
   * @return [S, M], -1 dead; always the same buffer
   */
  public LongBuffer states() {
    return states;
  }

  /**
   * Beams that are not dead; they come first, except in mode SAMPLE.
   *
   * @return [S]; always the same buffer
   */
  public IntBuffer live() {
    return live;
  }

  /**
   * Live beams that the model must be fed for.
   *
   * @return [S], 0: the slot is done; always the same buffer
   */
  public IntBuffer active() {
    return active;
  }

  /**
   * Codes decided so far.
   *
   * @return [S], -1 idle; always the same buffer
   */
  public IntBuffer level() {
    return level;
  }

  /**
   * Logs of the valid mass, summed over the levels: log x of each draw.
   *
   * @return [S, M], -inf dead; always the same buffer; null with {@link Mode#SEARCH}
   */
  public FloatBuffer logMasses() {
    return logMasses;
  }

  /**
   * Scores with their noise, which stochastic beams are ordered by.
   *
   * @return [S, M], -inf dead; always the same buffer; null except with {@link Mode#STOCHASTIC}
   */
  public FloatBuffer perturbed() {
    return perturbed;
  }

  /**
   * Logs of the probability that a stochastic beam is in the result, given the threshold.
   *
   * @return [S, M], -inf dead; always the same buffer; null except with {@link Mode#STOCHASTIC}
   */
  public FloatBuffer logInclusions() {
    return logInclusions;
  }

  /**
   * Perturbed score of the best prefix that was left out.
   *
   * @return [S], -inf: none was; always the same buffer; null except with {@link Mode#STOCHASTIC}
   */
  public FloatBuffer thresholds() {
    return thresholds;
  }

  private int at(int slot, int beam) {
    if (slot < 0 || slot >= slots || beam < 0 || beam >= width) {
      throw SidbeamException.invalid("slot " + slot + ", beam " + beam + " of " + slots + " slots of " + width
          + " beams");
    }
    return slot * width + beam;
  }

  /**
   * One of {@link #parents}.
   *
   * @param slot 0 .. S - 1
   * @param beam 0 .. M - 1
   * @return -1 dead
   */
  public int parent(int slot, int beam) {
    return parents.get(at(slot, beam));
  }

  /**
   * One of {@link #codes}.
   *
   * @param slot 0 .. S - 1
   * @param beam 0 .. M - 1
   * @return -1 dead, or ended before
   */
  public int code(int slot, int beam) {
    return codes.get(at(slot, beam));
  }

  /**
   * One of {@link #scores}.
   *
   * @param slot 0 .. S - 1
   * @param beam 0 .. M - 1
   * @return -inf dead
   */
  public float score(int slot, int beam) {
    return scores.get(at(slot, beam));
  }

  /**
   * One of {@link #live}.
   *
   * @param slot 0 .. S - 1
   * @return beams that are not dead
   */
  public int live(int slot) {
    return live.get(slot);
  }

  /**
   * One of {@link #active}.
   *
   * @param slot 0 .. S - 1
   * @return beams that the model must be fed for; 0: the slot is done
   */
  public int active(int slot) {
    return active.get(slot);
  }

  /**
   * What is wrong with a slot's result.
   *
   * @param slot 0 .. S - 1
   * @return empty where nothing is
   */
  public Set<SlotError> errors(int slot) {
    return SlotError.of(errors.get(slot));
  }
}
