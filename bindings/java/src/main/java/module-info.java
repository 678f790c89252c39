// SPDX-License-Identifier: Apache-2.0

/** Beam search over Semantic IDs that returns valid items alone. */
module io.sidbeam {
  exports io.sidbeam;
}
