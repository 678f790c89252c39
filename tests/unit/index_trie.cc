// The two ways to a child, by search in the list and by rank in the mask, lead to the same edge.
// SPDX-License-Identifier: Apache-2.0
#include "index/trie.h"

#include <numeric>

#include "backend/cpu/kernels.h"
#include "backend/cpu/only_children.h"
#include "index/read/state.h"
#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

// Of variable length, with nodes of few codes and nodes of most codes.
Index mixed_index() {
  TestCatalogue catalogue;
  catalogue.codes = {3, 700, 130};
  catalogue.variable_length = true;
  std::mt19937_64 random(20261121);
  const auto code = [&](int level) {
    return static_cast<int32_t>(random() % static_cast<uint64_t>(catalogue.codes[static_cast<size_t>(level)]));
  };
  for (int64_t i = 0; i < 30000; ++i) {
    // Node (0) has most codes, and a few of its children have many.
    std::vector<int32_t> sid = {random() % 4 == 0 ? code(0) : 0, random() % 2 == 0 ? code(1) : 5, code(2)};
    sid.resize(1 + random() % 3);
    catalogue.pairs.push_back({sid, i, "", 0});
  }
  return build(catalogue);
}

TEST(Trie, RanksInAMaskAgreeWithTheList) {
  const Index index = mixed_index();
  int64_t dense = 0, present = 0;
  for (int l = 0; l < index.view.levels; ++l) {
    const LevelView& level = index.view.level[l];
    for (uint64_t node = 0; node < level.nodes; ++node) {
      dense += dense_rank(level, node) >= 0;
      for (uint32_t token = 0; token <= level.codes + 1; ++token) {
        const uint64_t edge = find_edge(level, row_of(level, node), token);
        ASSERT_EQ(find_child(level, node, token), edge) << "level " << l << " node " << node << " token " << token;
        present += edge != kNoEdge;
      }
    }
  }
  EXPECT_GT(dense, 1);
  EXPECT_GT(present, 5000);
}

// Beams in all nodes of a level, the first of which have been followed, and each code for each of them.
void check_followed(const cpu::Kernels& kernels, const IndexView& index, int32_t number) {
  const LevelView& level = index.level[number];
  std::vector<int64_t> states;
  for (uint64_t node = 0; node < level.nodes; ++node)
    states.push_back(encode_state({number, is_end_node(index, number, node), NodeKind::kTrie, node}));
  states.push_back(kDeadState);
  const auto n = static_cast<int32_t>(states.size());
  const NodeRow untouched{{7, 7}, 7};
  std::vector<NodeRow> rows(states.size(), untouched);
  std::vector<uint32_t> only(states.size(), cpu::kNotOne);
  only[0] = 1;
  kernels.find_rows(level, states.data(), n, only.data(), rows.data());
  ASSERT_EQ(rows[0].dense, untouched.dense);
  rows[0] = node_row(level, 0);
  for (uint32_t token = 0; token <= level.codes; ++token) {
    std::vector<int32_t> parents(states.size()), tokens(states.size(), static_cast<int32_t>(token));
    std::vector<int64_t> next(states.size(), kDeadState);
    std::iota(parents.rbegin(), parents.rend(), 0);
    next[0] = 99;
    kernels.follow_rows(index, number, rows.data(), {parents.data(), tokens.data(), n, next.data()});
    ASSERT_EQ(next[0], 99);
    for (size_t i = 1; i < next.size(); ++i) {
      const int64_t before = states[static_cast<size_t>(parents[i])];
      const bool fed = is_live(before) && !is_ended(before);
      ASSERT_EQ(next[i], fed ? next_state(index, before, token) : kDeadState) << "state " << before << " by " << token;
    }
  }
}

TEST(Trie, KernelsFollowAsOneBeamIsFollowed) {
  const Index index = mixed_index();
  for (const CpuTarget target : kCpuTargets) {
    if (!has_cpu_target(target)) continue;
    SCOPED_TRACE(cpu_target_name(target));
    for (int32_t l = 0; l < index.view.levels; ++l) check_followed(cpu::kernels_of(target), index.view, l);
  }
}

TEST(Trie, StatesThatNothingMadeAreNone) {
  TestCatalogue catalogue;
  catalogue.codes = {2, 2};
  catalogue.variable_length = true;
  catalogue.pairs = {{{0}, 0, "", 0}, {{0, 1}, 1, "", 0}, {{1, 1}, 2, "", 0}};
  const Index index = build(catalogue);
  const int64_t at_one = next_state(index.view, 0, 0), ended = next_state(index.view, at_one, 2);
  for (const int64_t word : {int64_t{0}, at_one, ended}) EXPECT_TRUE(is_trie_state(index.view, word)) << word;
  EXPECT_TRUE(is_ended(ended));
  const int64_t end_bit = int64_t{1} << kEndedShift;
  for (const int64_t word : {int64_t{-1}, end_bit, at_one | end_bit, ended ^ end_bit, int64_t{1} << 48,
                             at_one | int64_t{1} << kKindShift, at_one | int64_t{2} << kKindShift, at_one + 99})
    EXPECT_FALSE(is_trie_state(index.view, word)) << word;
}

}  // namespace
}  // namespace sidbeam::testing
