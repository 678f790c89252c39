// What is derived from rules, against what follows from the SIDs below each edge; and the tables that it is derived
// with.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <set>

#include "index/read/items.h"
#include "index/read/lookup.h"
#include "index/read/repeats.h"
#include "index/rules/bits.h"
#include "index/rules/derived.h"
#include "index/rules/id_table.h"
#include "index/rules/lists.h"
#include "index/rules/ruled_state.h"
#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

constexpr int kCases = 150;

using Random = std::mt19937_64;

// Most SIDs begin alike, so that a compact trie has a tail from level 3 on; some end above it, the very first one
// perhaps among them.
TestCatalogue tail_catalogue(Random& random) {
  TestCatalogue catalogue;
  catalogue.kinds = SIDBEAM_KIND_COMPACT_TRIE;
  catalogue.variable_length = true;
  catalogue.codes = {3, 3, 3, 200};
  if (random() % 2 == 0) catalogue.codes.push_back(50);
  const bool short_first = random() % 2 == 0;
  if (short_first) catalogue.pairs.push_back({{0}, 0, "", 0});
  const uint64_t shortest = 1 + random() % 4;
  for (int64_t id = 1; id < 400; ++id) {
    std::vector<int32_t> sid;
    for (const int32_t codes : catalogue.codes)
      sid.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(codes)));
    if (random() % 4 != 0) sid[0] = sid[1] = 1;
    if (short_first) sid[0] = std::max(sid[0], 1);
    if (random() % 3 == 0) sid.resize(shortest + random() % (sid.size() + 1 - shortest));
    catalogue.pairs.push_back({sid, id, "", 0});
  }
  return catalogue;
}

// A catalogue with a trie; often few codes, so that nodes have several SIDs below them.
TestCatalogue trie_catalogue(Random& random) {
  if (random() % 4 == 0) return tail_catalogue(random);
  TestCatalogue catalogue = random_catalogue(random);
  catalogue.kinds = random() % 2 == 0 ? SIDBEAM_KIND_TRIE : SIDBEAM_KIND_COMPACT_TRIE;
  if (random() % 2 == 0) return catalogue;
  for (int32_t& codes : catalogue.codes) codes = std::min(codes, static_cast<int32_t>(2 + random() % 4));
  for (Pair& pair : catalogue.pairs)
    for (size_t l = 0; l < pair.sid.size(); ++l) pair.sid[l] %= catalogue.codes[l];
  return catalogue;
}

// Many SIDs that end at each level.
TestCatalogue ends_catalogue(Random& random) {
  TestCatalogue catalogue;
  catalogue.variable_length = true;
  catalogue.codes = {8, 30, 4};
  for (int64_t id = 0; id < 300; ++id) {
    std::vector<int32_t> sid;
    for (const int32_t codes : catalogue.codes)
      sid.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(codes)));
    sid.resize(1 + random() % 3);
    catalogue.pairs.push_back({sid, id, "", 0});
  }
  return catalogue;
}

// With the instructions of one of the machine's targets.
Index build_for_a_target(const TestCatalogue& catalogue, int i) {
  Index built = build(catalogue);
  const CpuTarget target = kCpuTargets[static_cast<size_t>(i) % std::size(kCpuTargets)];
  built.view.target = has_cpu_target(target) ? target : CpuTarget::kBaseline;
  return built;
}

Buffer<uint64_t> random_rows(const IndexView& index, Random& random) {
  constexpr uint64_t kPerMille[] = {0, 20, 500, 980, 1000};
  const uint64_t density = kPerMille[random() % std::size(kPerMille)];
  Buffer<uint64_t> rows = zero_bits(index.items, default_allocator());
  // Spread, or next to each other.
  const uint64_t together = random() % 3 == 0 ? 1 + random() % 64 : 1;
  for (uint64_t row = 0; row < index.items; row += together) {
    const bool in = random() % 1000 < density;
    for (uint64_t i = row; i < std::min(row + together, index.items); ++i) put_bit(rows.data(), i, in);
  }
  return rows;
}

// Whether a SID, or an edge, has an allowed item row.
template <class Allowed>
bool any_row(const IndexView& index, const OrdinalRange& sids, const Allowed& allowed) {
  for (uint64_t ordinal = sids.lo; ordinal < sids.hi; ++ordinal) {
    const OrdinalRange rows = item_rows(index, ordinal);
    for (uint64_t row = rows.lo; row < rows.hi; ++row)
      if (allowed(row)) return true;
  }
  return false;
}

// Rules say of every row, SID, edge and dense node what the rows say.
template <class Allowed>
void expect_rules(const IndexView& index, const RulesView& rules, const Allowed& allowed) {
  uint64_t left = 0;
  for (uint64_t row = 0; row < index.items; ++row) ASSERT_EQ(rules.allows(rules.rows, row), allowed(row)) << row;
  for (uint64_t ordinal = 0; ordinal < index.sids; ++ordinal) {
    const bool any = any_row(index, {ordinal, ordinal + 1}, allowed);
    left += any ? 1 : 0;
    if (index.csr_levels < index.levels) {
      ASSERT_EQ(rules.allows(rules.sids, ordinal), any) << ordinal;
    }
  }
  ASSERT_EQ(rules.sids_left, left);
  for (int l = 0; l < index.csr_levels; ++l) {
    const LevelView& level = index.level[l];
    const LevelRules& own = rules.level[l];
    const auto edge_allowed = [&](uint64_t edge) { return any_row(index, trie_ordinals(index, l + 1, edge), allowed); };
    for (uint64_t node = 0; node < level.nodes; ++node) {
      const Row row = row_of(level, node);
      std::set<uint64_t> codes;
      for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
        ASSERT_EQ(rules.allows(own.edges, edge), edge_allowed(edge)) << "level " << l << " edge " << edge;
        if (edge_allowed(edge)) codes.insert(level.tokens[edge]);
      }
      std::vector<uint64_t> words(row.count / 64 + 1);
      rules.put_allowed(own.edges, row, words.data());
      for (uint32_t i = 0; i < row.count; ++i)
        ASSERT_EQ(has_bit(words.data(), i), edge_allowed(row.begin + i)) << "level " << l << " edge " << row.begin + i;
      std::set<uint64_t> listed;
      for_each_allowed(rules, own.edges, row, [&](uint64_t edge) { listed.insert(level.tokens[edge]); });
      ASSERT_EQ(listed, codes) << "level " << l << " node " << node;
    }
  }
}

// The masks of dense nodes have the codes of edges that have their bits.
void expect_masks(const IndexView& index, const RulesView& rules) {
  for (int l = 0; l < index.csr_levels; ++l) {
    const LevelView& level = index.level[l];
    for (uint64_t node = 0; level.dense_nodes > 0 && node < level.nodes; ++node) {
      const int64_t dense = dense_rank(level, node);
      if (dense < 0) continue;
      const uint64_t* mask = rules.level[l].masks + static_cast<uint64_t>(dense) * level.mask_words();
      const Row row = row_of(level, node);
      uint64_t count = 0;
      for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
        ASSERT_EQ(has_bit(mask, level.tokens[edge]), has_bit(rules.level[l].edges.bits, edge));
        count += has_bit(mask, level.tokens[edge]) ? 1 : 0;
      }
      ASSERT_EQ(rules.level[l].mask_counts[dense], count);
      ASSERT_EQ(count_bits(mask, level.codes + 1), count);
    }
  }
}

// Several tasks per level: those of a level begin and end within a node's edges, whose only allowed one may be far from
// where they end; nodes that are dense; nodes that are ends for long.
TestCatalogue large_catalogue(int shape, Random& random) {
  TestCatalogue catalogue;
  catalogue.kinds = shape % 2 == 0 ? SIDBEAM_KIND_TRIE : SIDBEAM_KIND_COMPACT_TRIE;
  catalogue.variable_length = shape / 2 == 1;
  catalogue.codes = {91, 180, 90, 7};
  int64_t id = 0;
  if (shape / 2 == 2) {
    catalogue.codes = {2, 150000};
    for (int32_t code = 0; code < 150000; ++code) catalogue.pairs.push_back({{code / 149990, code}, id++, "", 0});
    return catalogue;
  }
  for (int32_t code = 0; catalogue.variable_length && code < 180; ++code)
    catalogue.pairs.push_back({{1, code}, id++, "", 0});
  const auto draw = [&](uint64_t codes) { return static_cast<int32_t>(random() % codes); };
  for (; id < 300000; ++id) {
    std::vector<int32_t> sid = {draw(90), draw(90), draw(90), draw(7)};
    if (sid[0] > 0) ++sid[0];
    if (catalogue.variable_length && sid[0] < 20) sid.resize(1 + random() % 4);
    catalogue.pairs.push_back({sid, id, "", 0});
  }
  return catalogue;
}

TEST(IndexRules, EdgesLeadBackToTheirNodes) {
  Random random(20261127);
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Index built = build(i == 0 ? large_catalogue(2, random) : trie_catalogue(random));
    const IndexView& index = built.view;
    const EdgeParents parents(index, 1 + i % 3, default_allocator());
    for (int l = 0; l < index.csr_levels; ++l)
      for (uint64_t node = 0; node < index.level[l].nodes; ++node) {
        const Row row = row_of(index.level[l], node);
        for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
          const EdgeParents::Parent parent = parents.parent_of(index, l, edge);
          ASSERT_EQ(parent.node, node) << "level " << l;
          ASSERT_EQ(parent.begin, row.begin) << "level " << l;
          ASSERT_EQ(parent.end, row.begin + row.count) << "level " << l;
        }
      }
    for (uint64_t row = 0; row < index.items; ++row)
      ASSERT_EQ(parents.sid_of(index, row).node, item_ordinal(index, row));
    std::vector<uint64_t> ordinals(index.sids);
    std::iota(ordinals.begin(), ordinals.end(), 0);
    std::vector<Leaf> leaves(index.sids);
    parents.leaves_of(index, ordinals.data(), static_cast<int64_t>(index.sids), leaves.data());
    for (uint64_t ordinal = 0; ordinal < index.sids; ++ordinal) {
      const Leaf expected = last_edge_of(index, ordinal);
      ASSERT_EQ(leaves[ordinal].level, expected.level);
      ASSERT_EQ(leaves[ordinal].edge, expected.edge);
    }
  }
}

TEST(IndexRules, FiltersReachEveryLevel) {
  Random random(20261128);
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Index built = build_for_a_target(trie_catalogue(random), i);
    const Buffer<uint64_t> rows = random_rows(built.view, random);
    const EdgeParents parents(built.view, 1, default_allocator());
    const DerivedBits bits(built.view, parents, rows.data(), 1 + i % 3, default_allocator());
    expect_rules(built.view, bits.view(), [&](uint64_t row) { return has_bit(rows.data(), row); });
    expect_masks(built.view, bits.view());
  }
}

void expect_levels(const IndexView& index, const RulesView& rules, const uint64_t* rows) {
  const auto allowed = [&](uint64_t row) { return has_bit(rows, row); };
  std::vector<uint64_t> below(index.sids + 1);  // SIDs before each that are allowed
  for (uint64_t ordinal = 0; ordinal < index.sids; ++ordinal)
    below[ordinal + 1] = below[ordinal] + (any_row(index, {ordinal, ordinal + 1}, allowed) ? 1 : 0);
  for (int l = 0; l < index.csr_levels; ++l)
    for (uint64_t edge = 0; edge < index.level[l].edges; ++edge) {
      const OrdinalRange sids = trie_ordinals(index, l + 1, edge);
      ASSERT_EQ(has_bit(rules.level[l].edges.bits, edge), below[sids.hi] > below[sids.lo])
          << "level " << l << " edge " << edge;
    }
  ASSERT_EQ(rules.sids_left, below[index.sids]);
}

TEST(IndexRules, LargeFiltersAreTheSameOnThreads) {
  Random random(20261203);
  // With sanitizers 1, 6 and 11: both kinds of trie, many rows on two threads, few on one.
  for (int i = SIDBEAM_SANITIZED; i < 12; i += SIDBEAM_SANITIZED ? 5 : 1) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Index built = build_for_a_target(large_catalogue(i % 6, random), i / 6);
    const IndexView& index = built.view;
    const EdgeParents parents(index, 2, default_allocator());
    Buffer<uint64_t> rows = random_rows(index, random);
    if (i % 6 > 3) {
      std::fill(rows.begin(), rows.end(), uint64_t{0});
      put_bit(rows.data(), 10, true);
    }
    const DerivedBits bits(index, parents, rows.data(), 1 + (i + i / 6) % 3, default_allocator());
    expect_levels(index, bits.view(), rows.data());
    expect_masks(index, bits.view());
    if (HasFatalFailure()) return;
  }
}

// Contents of any kind, which is what an index may have that was opened by its header: nothing is read or written
// elsewhere, and lists rise.
TEST(IndexRules, DamagedEndsAreReadWithinTheirArrays) {
  Random random(20261204);
  RequestLists lists;
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Index built = build(i % 2 == 0 ? tail_catalogue(random) : ends_catalogue(random));
    IndexView index = built.view;
    std::vector<std::vector<uint64_t>> damaged;
    const auto damage = [&](UintArray& array, uint64_t count, uint64_t universe) {
      std::vector<uint64_t>& values = damaged.emplace_back(count);
      for (uint64_t k = 0; k < count; ++k)
        values[k] = random() % 4 != 0 ? array[k] : random() % 2 == 0 ? random() % (universe + 2) : random();
      array = {values.data(), 8};
    };
    for (int l = 0; l < index.csr_levels; ++l) {
      damage(index.level[l].end_edges, index.level[l].ends, index.level[l].edges);
      damage(index.level[l].end_ordinals, index.level[l].ends, index.sids);
    }
    if (index.ends > 0) damage(index.end_ordinals, index.ends, index.sids);
    const EdgeParents parents(index, 1, default_allocator());
    const Buffer<uint64_t> rows = random_rows(index, random), listed = random_rows(index, random);
    const DerivedBits bits(index, parents, rows.data(), 1, default_allocator());
    std::vector<uint64_t> all;
    for (uint64_t row = 0; row < index.items; ++row)
      if (has_bit(listed.data(), row)) all.push_back(row);
    const DerivedBits updated(index, parents, listed.data(), bits, all.data(), std::ssize(all), default_allocator());
    lists.exclude({index, parents, i % 3 == 0 ? &bits.view() : nullptr}, {all.data(), std::ssize(all)}, nullptr,
                  default_allocator());
    for (int l = 0; l < index.csr_levels; ++l) {
      const Subset& edges = lists.view().level[l].edges;
      for (uint64_t k = 1; k < edges.listed.count; ++k)
        ASSERT_LT(edges.listed.numbers[k - 1], edges.listed.numbers[k]) << "level " << l;
      for (uint64_t node = 0; node < index.level[l].nodes; ++node) {
        const Row row = row_of(index.level[l], node);
        std::vector<uint64_t> words(row.count / 64 + 1);
        lists.view().put_allowed(edges, row, words.data());
        if (row.count > 0) lists.view().allowed_of(edges, row.begin, std::min<uint32_t>(row.count, 64));
      }
    }
  }
}

// An update has the bits of a new derivation, with the same memory.
TEST(IndexRules, UpdatesAreNewDerivations) {
  Random random(20261129);
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Index built = build(trie_catalogue(random));
    const IndexView& index = built.view;
    const EdgeParents parents(index, 1, default_allocator());
    const Buffer<uint64_t> before = random_rows(index, random), rows = random_rows(index, random);
    std::vector<uint64_t> changed;
    for (uint64_t row = 0; row < index.items; ++row)
      if (has_bit(before.data(), row) != has_bit(rows.data(), row)) changed.push_back(row);
    const DerivedBits old(index, parents, before.data(), 1, default_allocator());
    const DerivedBits updated(index, parents, rows.data(), old, changed.data(), std::ssize(changed),
                              default_allocator());
    const DerivedBits derived(index, parents, rows.data(), 1, default_allocator());
    EXPECT_EQ(updated.sids(), derived.sids());
    EXPECT_EQ(updated.bytes(), derived.bytes());
    expect_masks(index, updated.view());
    for (int l = 0; l < index.csr_levels; ++l)
      for (uint64_t edge = 0; edge < index.level[l].edges; ++edge)
        ASSERT_EQ(has_bit(updated.view().level[l].edges.bits, edge), has_bit(derived.view().level[l].edges.bits, edge))
            << "level " << l << " edge " << edge;
  }
}

// Lists of a request, with and without a filter, at once and one after another, in memory that is used again.
TEST(IndexRules, ListsReachEveryLevel) {
  Random random(20261130);
  RequestLists lists, more;
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Index built = build(trie_catalogue(random));
    const IndexView& index = built.view;
    const EdgeParents parents(index, 1, default_allocator());
    const Buffer<uint64_t> rows = random_rows(index, random), listed = random_rows(index, random);
    const DerivedBits bits(index, parents, rows.data(), 1, default_allocator());
    const bool filtered = i % 2 == 0;
    const FilteredIndex of{index, parents, filtered ? &bits.view() : nullptr};
    const auto passes = [&](uint64_t row) { return !filtered || has_bit(rows.data(), row); };
    std::vector<uint64_t> all, first, rest;
    for (uint64_t row = 0; row < index.items; ++row) {
      if (!has_bit(listed.data(), row)) continue;
      all.push_back(row);
      (random() % 2 == 0 ? first : rest).push_back(row);
    }
    const auto kept = [&](uint64_t row) { return passes(row) && !has_bit(listed.data(), row); };
    lists.exclude(of, {all.data(), std::ssize(all)}, nullptr, default_allocator());
    expect_rules(index, lists.view(), kept);
    lists.exclude(of, {first.data(), std::ssize(first)}, nullptr, default_allocator());
    more.exclude(of, {rest.data(), std::ssize(rest)}, &lists, default_allocator());
    expect_rules(index, more.view(), kept);
    lists.allow_only(of, {all.data(), std::ssize(all)}, default_allocator());
    expect_rules(index, lists.view(), [&](uint64_t row) { return passes(row) && has_bit(listed.data(), row); });
  }
}

TEST(IndexRules, IdsLeadToTheirRows) {
  Random random(20261201);
  for (int i = 0; i < kCases; ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    const Index built = build(trie_catalogue(random));
    const IndexView& index = built.view;
    const IdTable table(index, default_allocator());
    const ItemRepeats repeats(index, default_allocator());
    EXPECT_EQ(table.repeats(), repeats.view().count > 0);
    const auto id_of = [&](uint64_t row) {
      return index.id_type == IdType::kString ? ItemId{0, item_name(index, row)} : ItemId{index.ids[row], {}};
    };
    for (uint64_t row = 0; row < index.items; ++row) {
      std::set<uint64_t> expected, found;
      for (int64_t r = find_item(index, id_of(row).number, id_of(row).name, 0); r >= 0;
           r = find_item(index, id_of(row).number, id_of(row).name, static_cast<uint64_t>(r) + 1))
        expected.insert(static_cast<uint64_t>(r));
      const int64_t first = table.find(index, id_of(row), table.hash(index, id_of(row)));
      ASSERT_EQ(first, static_cast<int64_t>(*expected.begin()));
      for_each_row(index, &repeats.view(), static_cast<uint64_t>(first), [&](uint64_t r) { found.insert(r); });
      ASSERT_EQ(found, expected);
      if (row > 40) break;  // finding them the plain way is slow
    }
    const ItemId unknown{-987654321, "no such name"};
    EXPECT_EQ(table.find(index, unknown, table.hash(index, unknown)), -1);
  }
}

// So many that ids share bits of their hash.
TEST(IndexRules, ManyIdsLeadToTheirRows) {
  const uint64_t items = SIDBEAM_SANITIZED ? 300000 : 1500000;
  std::vector<int64_t> ids;
  for (uint64_t row = 0; row < items; ++row) ids.push_back(static_cast<int64_t>(row * 3) - 1000);
  IndexView index;
  index.items = items;
  index.ids = ids.data();
  const IdTable table(index, default_allocator());
  EXPECT_FALSE(table.repeats());
  for (uint64_t row = 0; row < items; ++row) {
    const ItemId id{ids[row], {}}, other{ids[row] + 1, {}};
    ASSERT_EQ(table.find(index, id, table.hash(index, id)), static_cast<int64_t>(row));
    ASSERT_EQ(table.find(index, other, table.hash(index, other)), -1);
  }
}

// Numbers far apart, next to each other, and at the ends of their range, in 4 and in 8 bytes.
TEST(IndexRules, NumbersAreFoundInTheirBuckets) {
  Random random(20261202);
  for (const uint64_t universe : {uint64_t{1}, uint64_t{100}, uint64_t{1} << 20}) {
    std::set<uint64_t> numbers = {0, universe - 1};
    for (uint64_t i = 0; i < 300; ++i)
      numbers.insert(i % 3 == 0 ? random() % universe : std::min<uint64_t>(i, universe - 1));
    std::vector<uint32_t> sorted(numbers.begin(), numbers.end()), first;
    NumberList list;
    list.numbers = {sorted.data(), 4};
    list.count = sorted.size();
    list.shift = universe > 1024 ? 10 : 3;
    list.buckets = ((universe - 1) >> list.shift) + 1;
    for (uint64_t bucket = 0; bucket <= list.buckets; ++bucket)
      first.push_back(
          static_cast<uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), bucket << list.shift) - sorted.begin()));
    list.first = first.data();
    for (int i = 0; i < 3000; ++i) {
      const uint64_t least = i < 200 ? static_cast<uint64_t>(i) : random() % (universe + 3000);
      const auto expected = std::lower_bound(sorted.begin(), sorted.end(), least) - sorted.begin();
      ASSERT_EQ(list.lower_bound(least), static_cast<uint64_t>(expected)) << least;
    }
  }
}

}  // namespace
}  // namespace sidbeam::testing
