// SIDs and items of an index, as text.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_ITEMS_H
#define SIDBEAM_CLI_ITEMS_H

#include <functional>
#include <string>
#include <vector>

#include "abi.h"

namespace cli {

// The item rows [lo, hi), each with its id. Throws where names of neighbours overlap, as only those of a damaged index
// do: together they could be as long as all names times the number of rows. (Names of a version lie in several places.)
void each_item(const sidbeam_index* index, int32_t id_type, int64_t lo, int64_t hi,
               const std::function<void(int64_t row, std::string id)>& take);
// At most so many items per value of an attribute; 0: no cap.
struct Cap {
  std::string attribute;
  int64_t most = 0;
};
// The items of each ordinal that the constraint allows, all if it is nullptr, in their order; none for ordinal -1.
// Distinct: without those of an ordinal before. Of a cap *came_short says whether it left any out.
std::vector<std::vector<std::string>> items_of(const sidbeam_index* index, const sidbeam_constraint* constraint,
                                               int32_t id_type, const std::vector<int64_t>& ordinals, bool distinct,
                                               const Cap& cap = {}, bool* came_short = nullptr);
std::vector<int32_t> sid_of(const sidbeam_index* index, int32_t levels, int64_t ordinal);
// Integer ids of the index's type; u64 as the same bits. `where` names the text in the failure if it is none.
int64_t parse_id(const std::string& where, int32_t id_type, const std::string& text);
// The item row of an id at or after from_row, or -1. Throws where the text cannot be an id of this index.
int64_t find_item(const sidbeam_index* index, int32_t id_type, const std::string& id, int64_t from_row);

}  // namespace cli

#endif
