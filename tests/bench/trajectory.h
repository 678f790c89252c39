// All beams of a decode, and whether two decodes agree. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "catalogue.h"
#include "method.h"
#include "row_model.h"

namespace bench {

struct Trajectory {
  struct Level {
    std::vector<int32_t> parents, codes;  // [slots, beams]
    std::vector<float> scores;
    std::vector<int32_t> live;  // [slots]
  };
  int32_t slots = 0, beams = 0;
  std::vector<Level> levels;
};

// Decodes the first steps of the logits, or of the model's rows.
Trajectory record(Method& method, const Shape& shape, const Logits& logits, RowModel* model = nullptr);

// "" or the first difference. Without exact ties scores may differ by their rounding, and a slot is followed only until
// two beams whose scores differ by no more than that have changed places.
std::string difference(const Trajectory& got, const Trajectory& wanted, bool exact_ties);

// The same of draws, among which dead ones may lie. Scores may differ by their rounding, as other log-sum-exps have it.
std::string difference_of_draws(const Trajectory& got, const Trajectory& wanted);

// SIDs of the beams at the end, slot by slot.
std::vector<std::vector<std::vector<int32_t>>> final_sids(const Trajectory& trajectory);
// Share of the wanted SIDs at the end that were found, and of those found that the catalogue has.
double share_found(const Trajectory& got, const Trajectory& wanted);
double share_valid(const Trajectory& got, const Catalogue& catalogue);

}  // namespace bench
