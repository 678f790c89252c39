// Where the codes of a level stand in a logits row. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "support/host_device.h"

namespace sidbeam {

// On the host the columns that a step reads are checked against its rows before it begins.
struct LevelColumns {
  int64_t offset = 0;
  const int32_t* map = nullptr;  // replaces offset + code; -1: no column, its element is as good as -inf
  int64_t map_columns = 0;       // columns that a row must have for the map
  int64_t end_column = -1;

  SIDBEAM_HD int64_t column(uint32_t code) const {
    return map != nullptr ? map[code] : offset + static_cast<int64_t>(code);
  }
  // Columns that a row must have for a level of `codes` codes, and the end where lengths vary.
  SIDBEAM_HD int64_t needed(uint32_t codes, bool variable_length) const {
    const int64_t all = map != nullptr ? map_columns : offset + static_cast<int64_t>(codes);
    return variable_length && end_column >= all ? end_column + 1 : all;
  }
};

}  // namespace sidbeam
