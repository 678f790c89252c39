// SPDX-License-Identifier: Apache-2.0
#include "runner/schedule/tree_rows.h"

#include <algorithm>

namespace sidbeam::runner {

TreeRows::TreeRows(const Allocator& allocator, const OutputColumns& output, int64_t rows)
    : output_(output), stride_(output.levels() - 1) {
  for (Buffer<int32_t>* of_rows : {&requests_, &depths_, &tokens_, &slots_})
    *of_rows = Buffer<int32_t>::zeroed(allocator, rows);
  ancestors_ = Buffer<int32_t>::zeroed(allocator, checked_bytes(rows, stride_));
}

int64_t TreeRows::memory_bytes() const {
  return requests_.bytes() + depths_.bytes() + tokens_.bytes() + slots_.bytes() + ancestors_.bytes();
}

// Places are numbered through all slots, a model's within each.
int32_t TreeRows::add(const sidbeam_speculation_tree& tree, int32_t slot, int64_t node) {
  const int32_t row = rows_++, depth = tree.positions[node] + 1;
  const auto first = static_cast<int32_t>(slot * tree.place_stride);
  requests_[row] = slot;
  depths_[row] = depth;
  tokens_[row] = depth > 0 ? output_.token(depth - 1, tree.codes[node]) : -1;
  slots_[row] = depth > 0 ? tree.places[node] - first : -1;
  const int32_t* places = tree.ancestors + node * tree.depth;
  int32_t* ancestors = ancestors_.data() + int64_t{row} * stride_;
  for (int32_t i = 0; i < stride_; ++i) ancestors[i] = i < depth ? places[i] - first : -1;
  return row;
}

DecodeRows TreeRows::view() const {
  DecodeRows view;
  view.rows = rows_;
  view.depth = stride_;
  view.requests = requests_.data();
  view.tokens = tokens_.data();
  view.slots = slots_.data();
  view.ancestors = ancestors_.data();
  view.depths = depths_.data();
  return view;
}

}  // namespace sidbeam::runner
