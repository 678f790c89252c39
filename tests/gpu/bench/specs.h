// The cases of cases.txt. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gpu {

struct Spec {
  std::string table;
  int64_t sids = 0;
  int32_t levels = 0, codes = 0, slots = 0, beams = 0;
  int64_t columns = 0, offset = 0;
  bool narrow = false;      // bf16
  bool level_only = false;  // normalised over the level
  int32_t chain = 0;
  std::vector<int32_t> at;

  int64_t rows() const { return int64_t{slots} * beams; }
  int64_t element_bytes() const { return narrow ? 2 : 4; }
  int64_t step_bytes() const { return rows() * columns * element_bytes(); }
  bool same_catalogue(const Spec& other) const {
    return sids == other.sids && levels == other.levels && codes == other.codes;
  }
};
std::vector<Spec> read_specs(const std::string& path);
// So small that it tests the program and times nothing.
Spec quick(Spec spec);

}  // namespace gpu
