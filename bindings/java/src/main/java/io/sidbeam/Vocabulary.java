// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

import java.util.Arrays;

/**
 * Which column of a logits row a code has: code t of level l is column offsets[l] + t, or maps[l][t] where that level
 * has a map. Levels may share columns. The default: code t is column t at every level. Every setter returns this
 * object.
 */
public final class Vocabulary {
  long[] offsets;
  int[] maps;
  long[] mapCodes;
  long endColumn = -1;

  /** No offsets, no maps, no column that ends a SID. */
  public Vocabulary() {}

  /**
   * Column of code 0 of each level.
   *
   * @param offsets [levels]; copied
   * @return this
   */
  public Vocabulary offsets(long... offsets) {
    this.offsets = offsets.clone();
    return this;
  }

  /**
   * Columns of each level's codes.
   *
   * @param maps [levels], each null (the offset is used) or [codes of the level]; copied
   * @return this
   */
  public Vocabulary maps(int[]... maps) {
    mapCodes = Arrays.stream(maps).mapToLong(map -> map == null ? 0 : map.length).toArray();
    this.maps = Arrays.stream(maps).filter(map -> map != null).flatMapToInt(Arrays::stream).toArray();
    return this;
  }

  /**
   * The column that ends a SID; an index of variable length needs one.
   *
   * @param endColumn -1: none
   * @return this
   */
  public Vocabulary endColumn(long endColumn) {
    this.endColumn = endColumn;
    return this;
  }
}
