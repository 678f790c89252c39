// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.FloatBuffer;

/**
 * Strict speculation: beam search by a draft model and a target model (AtSpeed). The draft writes several levels; one
 * call of the target then checks them all. The target's beams have the bits that plain search gives with the target
 * alone, and with {@link Mode#STOCHASTIC} those of its own draw, whatever the draft says.
 *
 * <pre>
 * target.start(); draft.start();                                   // once per request, the same constraints
 * while (speculation.begin() &gt; 0) {                                // rounds, until no slot is active
 *   SpeculationTree tree = speculation.tree();
 *   for (; !tree.isComplete(); tree = speculation.tree()) {
 *     Rows rows = ...;                                              // the draft's model on the nodes
 *     draft.step(new Step(rows).slots(tree.draftSlots()).rowMap(tree.draftNodes()));
 *     speculation.add();
 *   }
 *   speculation.verify(...);                                        // the target's model on all nodes
 * }
 * </pre>
 *
 * <p>On CUDA the tree is on the host all the same, while the logits are on the device, and so are sums of
 * {@link #verifyOn}; the draft's step takes copies of draftSlots and draftNodes there.
 *
 * <p>It and its sessions are used by one thread at a time: a second one gets {@link Status#BAD_STATE}. Closing it
 * leaves the sessions as they are; it keeps the memory of sessions that are closed before it, and then refuses to go
 * on.
 */
public final class Speculation extends NativeObject {
  private final Session target;
  private final Session draft;

  /**
   * With the process's runtime.
   *
   * @param target as below
   * @param draft as below
   * @param draftLevels as below
   */
  public Speculation(Session target, Session draft, int draftLevels) {
    this(null, target, draft, draftLevels);
  }

  /**
   * On the CPU, or on CUDA's default stream.
   *
   * @param runtime as below
   * @param target as below
   * @param draft as below
   * @param draftLevels as below
   */
  public Speculation(Runtime runtime, Session target, Session draft, int draftLevels) {
    this(runtime, target, draft, draftLevels, 0);
  }

  /**
   * Makes a speculation and all its memory. Fails with {@link Status#INVALID_ARGUMENT} (sessions that do not fit each
   * other: the message says in what), on CUDA with {@link Status#DEVICE_ERROR}.
   *
   * @param runtime null: the default
   * @param target of {@link Mode#SEARCH} or {@link Mode#STOCHASTIC}; held
   * @param draft a session of its own on the same device with the same slots, levels, strategy and mode, and at least
   *     as many beams; held. Columns, normalization and temperatures may differ
   * @param draftLevels most levels that are drafted in a round, 1 .. 64; the last level never is
   * @param stream a cudaStream_t as a number, of begin, add and verify, which wait for it; borrowed until close. What
   *     else is enqueued for the sessions must be ordered with it
   */
  public Speculation(Runtime runtime, Session target, Session draft, int draftLevels, long stream) {
    super(create(Runtime.orDefault(runtime), Buffers.given(target, "target"), Buffers.given(draft, "draft"),
        draftLevels, stream));
    this.target = target;
    this.draft = draft;
  }

  private static long create(Runtime runtime, Session target, Session draft, int draftLevels, long stream) {
    try {
      return Native.flat_speculation_create(runtime.handle, target.handle, draft.handle, draftLevels, stream);
    } finally {
      Reference.reachabilityFence(runtime);
      Reference.reachabilityFence(target);
      Reference.reachabilityFence(draft);
    }
  }

  /**
   * Begins a round of all slots that are started and not done. The draft's slots take over the target's beams. A round
   * that was not verified is forgotten.
   *
   * @return slots in the round; 0: all are done
   */
  public long begin() {
    return begin((int[]) null);
  }

  /**
   * Begins a round of some slots, passing over those that are done. Fails with {@link Status#INVALID_ARGUMENT} (a
   * draft's slot under another constraint, or of less width than the target has beams) or {@link Status#BAD_STATE} (a
   * slot that is not started, or that others have stepped between rounds); then no slot has changed.
   *
   * @param slots different ones that are started; null: all
   * @return slots in the round; 0: all are done
   */
  public long begin(int... slots) {
    try {
      return Native.flat_speculation_begin(handle, slots, slots == null ? 0 : slots.length);
    } finally {
      fence();
    }
  }

  /**
   * The round's nodes as they are now; ask again after {@link #begin()} and {@link #add}.
   *
   * @return new views
   */
  public SpeculationTree tree() {
    try {
      long[] numbers = new long[Native.FLAT_TREE_COUNT];
      Native.flat_speculation_get_tree(handle, numbers);
      return SpeculationTree.of(handle, numbers, draft.width());
    } finally {
      fence();
    }
  }

  /**
   * Adds the beams of the draft's slots that were stepped since. Slots that were not are drafted no further. Fails with
   * {@link Status#BAD_STATE} (no round, or a slot that is not where one step leads).
   */
  public void add() {
    try {
      Native.flat_speculation_add(handle);
    } finally {
      fence();
    }
  }

  /**
   * The tree as a dense mask: 1 where a node attends to a place of its slot, counted from 0 in every slot, else 0.
   *
   * @param mask [nodes, columns], direct, to be written
   * @param columns at least {@link SpeculationTree#placeStride}
   */
  public void mask(ByteBuffer mask, long columns) {
    ByteBuffer out = Buffers.out(Buffers.given(mask, "mask"), "mask");
    try {
      Native.flat_speculation_get_mask(handle, out, columns);
    } finally {
      fence();
    }
  }

  /**
   * Steps the target's slots on the rows of the nodes, and ends the round.
   *
   * @param logits [nodes, columns] with slots 0
   */
  public void verify(Rows logits) {
    verify(logits, null);
  }

  /**
   * Steps the target's slots on the rows of the nodes, and ends the round. Fails as {@link Session#step(Step)} does,
   * and with {@link Status#INVALID_ARGUMENT} (rows for another number of nodes) or {@link Status#BAD_STATE} (no round).
   * Where the first step fails, no slot has changed and the round goes on; after a later one the round has ended, and
   * slots are where the steps before have brought them.
   *
   * @param logits [nodes, columns] with slots 0: row n is that of node n
   * @param lse [nodes] as {@link Step#lse}; null: computed
   */
  public void verify(Rows logits, FloatBuffer lse) {
    stepTarget(logits, Buffers.in(lse, "lse"));
  }

  /**
   * The same on a device, with sums that are there too.
   *
   * @param logits [nodes, columns] with slots 0, of {@link Rows#device}
   * @param lse float [nodes] in the device's memory; null: computed
   */
  public void verifyOn(Rows logits, DevicePointer lse) {
    DevicePointer.check(target.deviceType, lse, "lse");
    stepTarget(logits, lse);
  }

  private void stepTarget(Rows logits, Object sums) {
    Rows rows = Buffers.given(logits, "logits");
    try {
      Native.flat_speculation_verify(handle, rows.memory, rows.elements, rows.dtype, rows.deviceType, rows.deviceId,
          rows.slots, rows.rows, rows.columns, rows.slotStride, rows.rowStride, sums);
    } finally {
      fence();
    }
  }

  /**
   * Counts since it was made.
   *
   * @return the current counts
   */
  public SpeculationStats stats() {
    try {
      long[] numbers = new long[Native.FLAT_SPECULATION_STATS_COUNT];
      Native.flat_speculation_get_stats(handle, numbers);
      return SpeculationStats.of(numbers);
    } finally {
      fence();
    }
  }

  /**
   * The session whose beams are the result.
   *
   * @return as given
   */
  public Session target() {
    return target;
  }

  /**
   * The session that drafts.
   *
   * @return as given
   */
  public Session draft() {
    return draft;
  }

  private void fence() {
    Reference.reachabilityFence(this);
  }
}
