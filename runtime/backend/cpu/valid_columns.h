// The columns of the codes that may follow a state.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/level_columns.h"
#include "index/rules/ruled_state.h"

namespace sidbeam::cpu {

// A state of an index (dead if the caller's was invalid), and its columns per level.
struct StateRow {
  const IndexView* index = nullptr;
  const RulesView* rules = nullptr;  // nullptr: every item is allowed
  int64_t state = -1;
  const LevelColumns* columns = nullptr;
};

// Calls visit(column) for every valid column of a row, the end's last.
template <class Visit>
void for_each_valid_column(const StateRow& row, const Visit& visit) {
  if (!is_live(row.state) || is_ended(row.state)) return;
  const State state = decode_state(row.state);
  if (state.level >= row.index->levels) return;
  const LevelView& level = row.index->level[state.level];
  const LevelColumns& columns = row.columns[state.level];
  for_each_allowed_child(*row.index, row.rules, state, [&](uint32_t token) {
    if (token < level.codes) {
      const int64_t column = columns.column(token);
      if (column >= 0) visit(column);
    } else if (row.index->variable_length && columns.end_column >= 0 && token == level.codes) {
      visit(columns.end_column);
    }
  });
}

}  // namespace sidbeam::cpu
