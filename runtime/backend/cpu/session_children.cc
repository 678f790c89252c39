// The columns that a step reads where it reads children alone. SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/only_children.h"
#include "backend/cpu/session.h"
#include "backend/cpu/valid_columns.h"
#include "support/error.h"

namespace sidbeam::cpu {
namespace {

// Writes a beam's columns without branches, and counts them. Does nothing and returns false unless its children are a
// list of codes, a fixed offset from their columns, for which there is room.
bool write_list(const StateRow& beam, int32_t number, const ChildColumns& out, int64_t& found) {
  const LevelView& level = beam.index->level[number];
  const LevelColumns& columns = beam.columns[number];
  if (number >= beam.index->csr_levels || beam.index->variable_length || columns.map != nullptr) return false;
  const Row row = row_of(level, node_to_feed(beam.state));
  if (columns.offset + level.codes > INT32_MAX || found + row.count > out.capacity) return false;
  int64_t at = found;
  with_type(level.tokens, [&](const auto* tokens) {
    for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
      out.columns[at] = static_cast<int32_t>(columns.offset + static_cast<int64_t>(tokens[edge]));
      at += tokens[edge] < level.codes ? 1 : 0;
    }
  });
  found = at;
  return true;
}

}  // namespace

void CpuSession::children(const int32_t* slots, int64_t count, const ChildColumns& out) const {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = slots != nullptr ? slots[i] : i;
    const bool runs = level_[slot] >= 0 && active_[slot] > 0;
    const int64_t* states = states_.data() + slot * shape_.beams;
    const IndexView* index = runs ? &constraints_[slot]->view() : nullptr;
    if (runs) {
      fetch_next(*index, level_[slot] - 1, states, live_[slot]);
      fetch_children(*index, level_[slot], states, live_[slot]);
    }
    for (int32_t m = 0; m < shape_.beams; ++m) {
      out.offsets[i * shape_.beams + m] = found;
      if (!runs || m >= live_[slot]) continue;
      const StateRow beam{index, states[m], shape_.vocabulary.columns};
      if (write_list(beam, level_[slot], out, found)) continue;
      for_each_valid_column(beam, [&](int64_t column) {
        if (column > INT32_MAX)
          fail(SIDBEAM_UNSUPPORTED, "a child has column %lld, expected at most 2^31 - 1",
               static_cast<long long>(column));
        if (found < out.capacity) out.columns[found] = static_cast<int32_t>(column);
        ++found;
      });
    }
  }
  out.offsets[count * shape_.beams] = found;
}

}  // namespace sidbeam::cpu
