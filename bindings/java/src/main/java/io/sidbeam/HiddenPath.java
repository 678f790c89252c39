// SPDX-License-Identifier: Apache-2.0
package io.sidbeam;

/** How a {@link HiddenStep}, or a {@link Runner}, computes logits. It changes no result. */
public enum HiddenPath {
  /** What is expected to be faster, by the layer's measured costs. */
  FASTEST(Native.SIDBEAM_HIDDEN_FASTEST),
  /** The children's alone; fails where a step reads more. */
  CHILDREN(Native.SIDBEAM_HIDDEN_CHILDREN),
  /** All columns. */
  PRODUCT(Native.SIDBEAM_HIDDEN_PRODUCT);

  final int code;

  HiddenPath(int code) {
    this.code = code;
  }
}
