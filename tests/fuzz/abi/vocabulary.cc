// SPDX-License-Identifier: Apache-2.0
#include "vocabulary.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>

namespace fuzz::abi {
namespace {

bool has_map(const Vocabulary& vocabulary, int32_t level) {
  return vocabulary.map_pointers.given() && vocabulary.map_pointers[static_cast<size_t>(level)] != nullptr;
}

void draw_maps(FuzzedDataProvider& input, const sidbeam_index_info& info, Vocabulary& vocabulary) {
  std::vector<const int32_t*> pointers;
  std::vector<int64_t> lengths;
  for (int32_t l = 0; l < vocabulary.view.levels; ++l) {
    const int32_t codes = std::max(1, info.codes[l]);
    std::vector<int32_t> map(static_cast<size_t>(codes + input.ConsumeIntegralInRange(-1, 3)));
    for (int32_t& column : map) column = input.ConsumeIntegralInRange(0, 2 * codes);
    if (!map.empty() && input.ConsumeIntegralInRange(0, 15) == 1) map[map.size() / 2] = -1;
    const bool none = map.empty() || input.ConsumeBool();
    vocabulary.maps.emplace_back(std::move(map));
    pointers.push_back(none ? nullptr : vocabulary.maps.back().get());
    lengths.push_back(none ? -1 : static_cast<int64_t>(vocabulary.maps.back().values().size()));
  }
  vocabulary.map_pointers = Array<const int32_t*>(std::move(pointers));
  vocabulary.map_codes = Array<int64_t>(std::move(lengths));
}

}  // namespace

Vocabulary draw_vocabulary(FuzzedDataProvider& input, const sidbeam_index_info& info) {
  Vocabulary vocabulary;
  vocabulary.given = input.ConsumeIntegralInRange(0, 7) != 1;
  vocabulary.view.levels = info.levels + input.ConsumeIntegralInRange(0, 7) / 7;
  if (input.ConsumeIntegralInRange(0, 31) == 1) --vocabulary.view.levels;
  std::vector<int64_t> offsets;
  for (int32_t l = 0; l < vocabulary.view.levels; ++l) offsets.push_back(input.ConsumeIntegralInRange(0, 40));
  if (input.ConsumeBool()) vocabulary.offsets = Array<int64_t>(std::move(offsets));
  if (input.ConsumeIntegralInRange(0, 3) == 1) draw_maps(input, info, vocabulary);
  vocabulary.view.end_column = input.ConsumeIntegralInRange(-1, 15);
  if (info.variable_length != 0 && input.ConsumeIntegralInRange(0, 15) != 1)
    vocabulary.view.end_column = std::max<int64_t>(0, vocabulary.view.end_column);
  vocabulary.view.offsets = vocabulary.offsets.get();
  vocabulary.view.maps = vocabulary.map_pointers.get();
  vocabulary.view.map_codes = vocabulary.map_codes.get();
  return vocabulary;
}

// A code without a column may have no SID; which codes have some is not known here.
void Vocabulary::judge(const sidbeam_index_info& info, Answers& answers) const {
  answers.fails_if(info.variable_length != 0 && (!given || view.end_column < 0), SIDBEAM_INVALID_ARGUMENT);
  if (!given) return;
  answers.fails_if(view.levels < info.levels, SIDBEAM_INVALID_ARGUMENT);
  for (int32_t l = 0; l < std::min(info.levels, view.levels); ++l) {
    if (!has_map(*this, l)) continue;
    const std::vector<int32_t>& map = maps[static_cast<size_t>(l)].values();
    answers.fails_if(std::ssize(map) < info.codes[l], SIDBEAM_INVALID_ARGUMENT);
    if (std::find(map.begin(), map.end(), -1) != map.end()) answers.may_fail(SIDBEAM_INVALID_ARGUMENT);
  }
}

int64_t Vocabulary::columns(const sidbeam_index_info& info, int32_t level) const {
  const auto l = static_cast<size_t>(level);
  if (!given || level >= view.levels) return info.codes[level];
  int64_t columns = (offsets.given() ? offsets[l] : 0) + info.codes[level];
  if (has_map(*this, level)) {
    const std::vector<int32_t>& map = maps[l].values();
    columns = 1 + *std::max_element(map.begin(), map.end());
  }
  return info.variable_length != 0 ? std::max(columns, view.end_column + 1) : columns;
}

}  // namespace fuzz::abi
