// What rules are derived from: the trie of an index or, in a snapshot with a delta, two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/overlay.h"
#include "index/rules/row_starts.h"

namespace sidbeam {

struct Tries {
  const IndexView& index;
  const EdgeParents& parents;                  // of the base
  const EdgeParents* delta_parents = nullptr;  // where there is an overlay

  const OverlayView* overlay() const { return index.overlay; }
  const IndexView& delta() const { return *index.overlay->delta; }
};

}  // namespace sidbeam
