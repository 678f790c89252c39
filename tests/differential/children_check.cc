// The columns that the next step reads where it reads children alone.
// SPDX-License-Identifier: Apache-2.0
#include "checks.h"

namespace differential {
namespace {

// Those of a beam, in the order of codes, the end last.
std::vector<int32_t> columns_of(const World& world, const oracle::Catalogue& catalogue, const oracle::Sid& prefix) {
  const size_t level = prefix.size();
  std::vector<int32_t> columns;
  for (const int code : oracle::children(catalogue, prefix)) {
    const bool is_end = code == catalogue.codes[level];
    columns.push_back(is_end ? world.rules.end_column : world.rules.columns[level][static_cast<size_t>(code)]);
  }
  std::erase_if(columns, [](int32_t column) { return column < 0; });
  return columns;
}

}  // namespace

void check_children(const World& world, const Place& place, const sidbeam_session* session,
                    const std::vector<std::vector<FedBeam>>& slots, uint64_t draw, Coverage* coverage) {
  const bool reads_children = world.c.given_lse != 0 || world.c.normalization == SIDBEAM_NORMALIZE_VALID ||
                              world.c.normalization == SIDBEAM_NORMALIZE_NONE;
  if (world.c.strategy != SIDBEAM_STRATEGY_TRIE || !reads_children) return;
  std::vector<int64_t> wanted_offsets;
  std::vector<int32_t> wanted;
  for (const std::vector<FedBeam>& slot : slots)
    for (size_t m = 0; m < static_cast<size_t>(world.c.beams); ++m) {
      wanted_offsets.push_back(static_cast<int64_t>(wanted.size()));
      if (m >= slot.size() || !slot[m].fed) continue;
      const std::vector<int32_t> columns = columns_of(world, world.catalogues[slot[m].catalogue], *slot[m].prefix);
      wanted.insert(wanted.end(), columns.begin(), columns.end());
      ++(*coverage)["beams whose children were listed"];
    }
  wanted_offsets.push_back(static_cast<int64_t>(wanted.size()));
  // Just enough room, too little, none, or more than kernels write past the end.
  const size_t rooms[] = {wanted.size(), wanted.size() / 2, 0, wanted.size() + 64};
  const size_t room = rooms[draw % 4];
  Array<int64_t> offsets(place, wanted_offsets.size(), int64_t{-7});
  Array<int32_t> columns(place, room, int32_t{-7});
  call("sidbeam_session_children", sidbeam_session_children, session, static_cast<int32_t*>(nullptr), int64_t{0},
       world.c.given_lse != 0 ? 1 : 0, static_cast<int64_t>(room), offsets.data(), columns.data(), place.stream());
  expect(offsets.fetch() == wanted_offsets, "the children's offsets are not those of the prefixes");
  const std::vector<int32_t>& found = columns.fetch();
  for (size_t i = 0; i < std::min(room, wanted.size()); ++i)
    expect(found[i] == wanted[i], "child ", i, " has column ", found[i], " and should have ", wanted[i]);
}

}  // namespace differential
