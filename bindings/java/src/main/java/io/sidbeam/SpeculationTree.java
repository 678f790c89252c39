// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.nio.IntBuffer;
import java.nio.LongBuffer;

/**
 * The nodes of a round, slot by slot: views of the speculation's own memory, whose contents hold until its next call.
 * They keep that memory, also after close. A root is a beam of the target that must be fed, every other node a beam of
 * the draft; a prefix is one node, which all that continue it share. Node n writes its keys and values at places[n] of
 * the unshared KV; a place is used once per request. A slot that was just started has one root, of code -1: its logits
 * row is that of the prompt's last position, and it has no keys, values and ancestors.
 *
 * @param slots [count] of the round, rising
 * @param nodeOffsets [count + 1] the i-th slot has the nodes nodeOffsets[i] .. nodeOffsets[i + 1] - 1
 * @param tokens [nodes] column of the node's last code in the target's vocabulary; -1 as above
 * @param codes [nodes] last code; -1 likewise
 * @param positions [nodes] codes before the last one, those of the slot's start included; -1 likewise
 * @param parents [nodes] node; -1: a root
 * @param places [nodes] slot * placeStride + ...; -1 likewise
 * @param ancestors [nodes, depth] places of the codes on the way, the node's own last, then -1
 * @param draftSlots [n] of the draft to step next, as {@link Step#slots}; empty: the tree is complete
 * @param draftNodes [n, N] node of each beam of the draft, as {@link Step#rowMap}; -1: dead or ended
 * @param depth entries of a list of ancestors
 * @param placeStride places that a slot may use during a request
 */
public record SpeculationTree(IntBuffer slots, LongBuffer nodeOffsets, LongBuffer tokens, IntBuffer codes,
    IntBuffer positions, IntBuffer parents, IntBuffer places, IntBuffer ancestors, IntBuffer draftSlots,
    IntBuffer draftNodes, int depth, long placeStride) {
  static SpeculationTree of(long owner, long[] n, int width) {
    long count = n[Native.FLAT_TREE_SLOT_COUNT];
    long nodes = n[Native.FLAT_TREE_NODES];
    long drafts = n[Native.FLAT_TREE_DRAFT_COUNT];
    int depth = (int) n[Native.FLAT_TREE_DEPTH];
    return new SpeculationTree(ints(owner, n[Native.FLAT_TREE_SLOTS], count),
        longs(owner, n[Native.FLAT_TREE_NODE_OFFSETS], count + 1), longs(owner, n[Native.FLAT_TREE_TOKENS], nodes),
        ints(owner, n[Native.FLAT_TREE_CODES], nodes), ints(owner, n[Native.FLAT_TREE_POSITIONS], nodes),
        ints(owner, n[Native.FLAT_TREE_PARENTS], nodes), ints(owner, n[Native.FLAT_TREE_PLACES], nodes),
        ints(owner, n[Native.FLAT_TREE_ANCESTORS], nodes * depth), ints(owner, n[Native.FLAT_TREE_DRAFT_SLOTS], drafts),
        ints(owner, n[Native.FLAT_TREE_DRAFT_NODES], drafts * width), depth, n[Native.FLAT_TREE_PLACE_STRIDE]);
  }

  private static IntBuffer ints(long owner, long address, long count) {
    return Beams.view(owner, address, count * Integer.BYTES).asIntBuffer();
  }

  private static LongBuffer longs(long owner, long address, long count) {
    return Beams.view(owner, address, count * Long.BYTES).asLongBuffer();
  }

  /**
   * Rows that the target's model is run for.
   *
   * @return nodes
   */
  public int nodes() {
    return tokens.capacity();
  }

  /**
   * Whether nothing is left to be drafted.
   *
   * @return draftSlots is empty
   */
  public boolean isComplete() {
    return draftSlots.capacity() == 0;
  }
}
