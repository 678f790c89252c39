// The columns that a step reads where it reads children alone. SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/only_children.h"
#include "backend/cpu/session.h"
#include "backend/cpu/valid_columns.h"
#include "support/error.h"

namespace sidbeam::cpu {

void CpuSession::children(const int32_t* slots, int64_t count, const ChildColumns& out) const {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t slot = slots != nullptr ? slots[i] : i;
    const bool runs = level_[slot] >= 0 && active_[slot] > 0;
    const int64_t* states = states_.data() + slot * shape_.beams;
    const IndexView* index = runs ? &constraints_[slot]->view() : nullptr;
    if (runs) fetch_children(*index, level_[slot], states, live_[slot]);
    for (int32_t m = 0; m < shape_.beams; ++m) {
      out.offsets[i * shape_.beams + m] = found;
      if (!runs || m >= live_[slot]) continue;
      for_each_valid_column({index, states[m], shape_.vocabulary.columns}, [&](int64_t column) {
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
