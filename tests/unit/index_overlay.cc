// Base and delta joined by an overlay, against the list of their SIDs: children, states, ordinals, and what rules leave
// at every node.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "index/live/filter_bits.h"
#include "index/live/overlay.h"
#include "index/live/request_rules.h"
#include "index/read/lookup.h"
#include "index/rules/bits.h"
#include "index/rules/ruled_state.h"
#include "index_catalogues.h"
#include "index_damage.h"
#include "random_seed.h"

namespace sidbeam::testing {
namespace {

constexpr int kCases = 300;

using Random = std::mt19937_64;
using Sid = std::vector<int32_t>;
using Sids = std::set<Sid>;

// Catalogues whose nodes have several children, some of them dense, or SIDs in a tail.
TestCatalogue trie_catalogue(Random& random) {
  TestCatalogue catalogue = random_catalogue(random);
  catalogue.kinds = random() % 2 == 0 ? SIDBEAM_KIND_TRIE : SIDBEAM_KIND_COMPACT_TRIE;
  const uint64_t shape = random() % 3;
  if (shape == 0) return catalogue;
  for (int32_t& codes : catalogue.codes)
    codes = shape == 1 ? std::min(codes, static_cast<int32_t>(2 + random() % 4)) : std::min(codes, 300);
  for (Pair& pair : catalogue.pairs) {
    for (size_t l = 0; l < pair.sid.size(); ++l) pair.sid[l] %= catalogue.codes[l];
    if (shape == 2 && random() % 4 != 0)
      for (size_t l = 0; l + 2 < pair.sid.size(); ++l) pair.sid[l] = 0;  // wide rows deep down
  }
  return catalogue;
}

std::vector<uint64_t> permutation(Random& random, uint64_t first, uint64_t count) {
  std::vector<uint64_t> out(count);
  std::iota(out.begin(), out.end(), first);
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

Sid sid_at(const IndexView& index, uint64_t ordinal) {
  Sid sid(static_cast<size_t>(index.levels));
  sid.resize(static_cast<size_t>(sid_of(index, ordinal, sid.data())));
  return sid;
}

// A base, a delta and what joins them.
class Snapshot {
 public:
  Snapshot(const TestCatalogue& of_base, const TestCatalogue& of_delta, Random& random, int threads)
      : base(build(of_base)),
        delta(build(of_delta)),
        overlay(base.view, delta.view, threads, default_allocator()),
        view(base.view) {
    const IndexView& added = delta.view;
    const auto fresh =
        static_cast<uint64_t>(std::count(overlay.base_ordinals(), overlay.base_ordinals() + added.sids, kNoNode));
    const std::vector<uint64_t> sids = permutation(random, base.view.sids, fresh);
    const std::vector<uint64_t> rows = permutation(random, base.view.items, added.items);
    size_t next = 0;
    for (uint64_t i = 0; i < added.sids; ++i) {
      const uint64_t in_base = overlay.base_ordinals()[i];
      ordinals.push_back(in_base != kNoNode ? in_base : sids[next++]);
    }
    overlay.set_numbers({base.view.sids + fresh, base.view.items + added.items, ordinals.data(), rows.data()},
                        default_allocator());
    view.overlay = &overlay.view();
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

  Sid sid(uint64_t ordinal) const { return sid_at(view, ordinal); }

  Index base, delta;
  Overlay overlay;
  std::vector<uint64_t> ordinals;
  IndexView view;
};

// Some pairs are in the base, the others in the delta; neither is empty.
struct Split {
  TestCatalogue base, delta;
  Split(const TestCatalogue& all, Random& random) : base(all), delta(all) {
    delta.kinds = SIDBEAM_KIND_TRIE;
    base.pairs.clear();
    delta.pairs.clear();
    const uint64_t share = 1 + random() % 20;
    for (const Pair& pair : all.pairs) (random() % 20 < share ? delta : base).pairs.push_back(pair);
    if (base.pairs.empty()) base.pairs.push_back(all.pairs.front());
    if (delta.pairs.empty()) delta.pairs.push_back(all.pairs.back());
  }
};

Sids sids_of(const TestCatalogue& catalogue) {
  Sids out;
  for (const Pair& pair : catalogue.pairs) out.insert(pair.sid);
  return out;
}

// The codes that may follow a prefix, with V_l for the end.
std::set<uint32_t> children_of(const IndexView& index, const Sids& sids, const Sid& prefix) {
  std::set<uint32_t> out;
  const size_t level = prefix.size();
  for (auto sid = sids.lower_bound(prefix); sid != sids.end(); ++sid) {
    if (sid->size() < level || !std::equal(prefix.begin(), prefix.end(), sid->begin())) break;
    out.insert(sid->size() > level ? static_cast<uint32_t>((*sid)[level]) : index.level[level].codes);
  }
  return out;
}

// Walks all nodes under the rules (nullptr: none) and compares them with those of the allowed SIDs; returns the SIDs
// that it came to.
class Walk {
 public:
  Walk(const Snapshot& snapshot, const RulesView* rules, const Sids& allowed)
      : snapshot_(snapshot), index_(snapshot.view), rules_(rules), allowed_(allowed) {}

  Sids run() {
    visit({}, {});
    return found_;
  }

 private:
  void visit(const Sid& prefix, const State& state) {
    ASSERT_TRUE(is_trie_state(index_, encode_state(state)));
    const std::set<uint32_t> expected = children_of(index_, allowed_, prefix);
    std::vector<uint32_t> tokens;
    for_each_allowed_child(index_, rules_, state, [&](uint32_t token) { tokens.push_back(token); });
    ASSERT_EQ(tokens, std::vector<uint32_t>(expected.begin(), expected.end())) << prefix.size();
    const NodePlace place = node_place(index_, state.level, state.node);
    if (place.joined) expect_merged(place, state.level, expected);
    for (const uint32_t token : tokens) {
      State next = state;
      ASSERT_TRUE(follow(index_, next, token));
      ASSERT_TRUE(allows_state(index_, rules_, next));
      Sid longer = prefix;
      if (token < index_.level[state.level].codes) longer.push_back(static_cast<int32_t>(token));
      if (next.ended || next.level == index_.levels) {
        expect_sid(longer, next);
      } else {
        visit(longer, next);
      }
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

  // The bits and masks of a merged row.
  void expect_merged(const NodePlace& place, int32_t number, const std::set<uint32_t>& expected) {
    const OverlayLevel& level = snapshot_.overlay.view().level[number];
    const NodeRow found = node_row(level.rows, place.node);
    const bool has_bits = rules_ != nullptr && rules_->merged->level[number].edges.bits != nullptr && !has_lists();
    for (uint64_t i = 0; has_bits && i < found.row.count; ++i) {
      const uint64_t edge = found.row.begin + i;
      ASSERT_EQ(has_bit(rules_->merged->level[number].edges.bits, edge),
                expected.count(static_cast<uint32_t>(level.rows.tokens[edge])) > 0);
    }
    if (found.dense < 0 || (rules_ != nullptr && !has_bits)) return;
    ++dense_;
    const uint64_t words = level.rows.mask_words(), first = static_cast<uint64_t>(found.dense) * words;
    const uint64_t* mask = (has_bits ? rules_->merged->level[number].masks : level.rows.masks) + first;
    std::set<uint32_t> in_mask;
    for (uint32_t code = 0; code < words * 64; ++code)
      if (has_bit(mask, code)) in_mask.insert(code);
    ASSERT_EQ(in_mask, expected);
    if (has_bits) {
      ASSERT_EQ(rules_->merged->level[number].mask_counts[found.dense], expected.size());
    }
  }
  bool has_lists() const {
    return rules_->only_listed || rules_->rows.listed.count > 0 || rules_->delta->rows.listed.count > 0;
  }

  void expect_sid(const Sid& sid, const State& state) {
    ASSERT_TRUE(is_trie_state(index_, encode_state(state)));
    const uint64_t ordinal = sid_ordinal(index_, state);
    ASSERT_LT(ordinal, sid_count(index_));
    ASSERT_EQ(snapshot_.sid(ordinal), sid);
    ASSERT_EQ(find_sid(index_, sid.data(), static_cast<int>(sid.size())), static_cast<int64_t>(ordinal));
    found_.insert(sid);
  }

  const Snapshot& snapshot_;
  const IndexView& index_;
  const RulesView* rules_;
  const Sids& allowed_;
  Sids found_;

 public:
  int dense_ = 0;
};

TEST(IndexOverlay, JoinsTheSidsOfBaseAndDelta) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  int shared = 0, in_tail = 0, dense = 0;
  for (int i = 0; i < kCases; ++i) {
    const TestCatalogue all = trie_catalogue(random);
    const Split split(all, random);
    const Snapshot snapshot(split.base, split.delta, random, 1 + static_cast<int>(random() % 3));
    Sids sids = sids_of(split.base);
    sids.merge(sids_of(split.delta));
    Walk walk(snapshot, nullptr, sids);
    const Sids found = walk.run();
    ASSERT_FALSE(HasFatalFailure()) << "case " << i;
    ASSERT_EQ(found, sids);
    ASSERT_EQ(sid_count(snapshot.view), sids.size());
    shared += snapshot.overlay.view().shared > 0 ? 1 : 0;
    in_tail += snapshot.view.csr_levels < snapshot.view.levels ? 1 : 0;
    dense += walk.dense_;
  }
  EXPECT_GT(shared, 0);
  EXPECT_GT(in_tail, 0);
  EXPECT_GT(dense, 0);
}

// A joined row has, rising, the codes of the delta's node and of the base's, as both read them.
void expect_rows_of_both(const IndexView& base, const IndexView& delta, const Overlay& overlay, int32_t number) {
  const OverlayLevel& level = overlay.view().level[number];
  uint64_t place = 0;
  for (uint64_t node = 0; node < delta.level[number].nodes; ++node) {
    if (!has_bit(level.joined, node)) continue;
    const Row own = row_of(delta.level[number], node), merged = row_of(level.rows, place);
    uint32_t codes[kMaxRun];
    const Run run = run_of(base, number, level.base[place++]);
    const uint32_t count = own.count > 0 && run.count > 0 ? tail_children(base, number, run, codes) : 0;
    std::set<uint64_t> expected(codes, codes + count);
    std::vector<uint64_t> found;
    for (uint64_t i = 0; i < own.count; ++i) expected.insert(delta.level[number].tokens[own.begin + i]);
    for (uint64_t i = 0; i < merged.count; ++i) found.push_back(level.rows.tokens[merged.begin + i]);
    ASSERT_EQ(found, std::vector<uint64_t>(expected.begin(), expected.end()));
  }
}

TEST(IndexOverlay, HasOfADamagedTailWhatIsReadOfIt) {
  const auto seed = random_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  int damaged = 0;
  for (int i = 0; i < kCases; ++i) {
    TestCatalogue all = trie_catalogue(random);
    all.kinds = SIDBEAM_KIND_COMPACT_TRIE;
    const Split split(all, random);
    const Index sound = build(split.base), delta = build(split.delta);
    if (sound.view.csr_levels == sound.view.levels) continue;
    Damaged file(bytes_of(sound));
    const Section& tail = file.entry(format::SectionKind::Tail, sound.view.csr_levels);
    for (uint64_t at = 0; at < tail.spec.length; ++at)
      if (random() % 8 == 0) file.bytes[static_cast<int64_t>(tail.offset + at)] = static_cast<uint8_t>(random());
    file.seal();
    const Index base = file.open(SIDBEAM_VERIFY_HEADER);
    const Overlay overlay(base.view, delta.view, 1, default_allocator());
    for (int32_t l = base.view.csr_levels; l < base.view.levels; ++l)
      expect_rows_of_both(base.view, delta.view, overlay, l);
    ASSERT_FALSE(HasFatalFailure()) << "case " << i;
    ++damaged;
  }
  EXPECT_GT(damaged, 0);
}

TEST(IndexOverlay, WordsThatAreNoStatesAreDead) {
  Random random(1);
  const TestCatalogue all = trie_catalogue(random);
  const Split split(all, random);
  const Snapshot snapshot(split.base, split.delta, random, 1);
  const IndexView& index = snapshot.view;
  for (int32_t level = 0; level <= index.levels + 1; ++level)
    for (const NodeKind kind : {NodeKind::kTrie, NodeKind::kSorted, NodeKind::kOpaque, NodeKind::kTail})
      for (const bool ended : {false, true})
        for (const uint64_t node : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 20, uint64_t{1} << 46, kDeltaNode - 1}) {
          const int64_t word = encode_state({level, ended, kind, kDeltaNode | node});
          const bool exists = level >= 1 && level <= index.levels && kind == NodeKind::kTrie &&
                              node < snapshot.delta.view.level[level - 1].edges &&
                              ended == is_end_node(snapshot.delta.view, level, node);
          EXPECT_EQ(is_trie_state(index, word), exists) << level << " " << node;
        }
}

// Random item rows of a snapshot.
struct RandomRows {
  Buffer<uint64_t> bits;
  std::vector<uint64_t> rows;
  RandomRows(uint64_t items, Random& random, uint64_t of_ten) : bits(zero_bits(items, default_allocator())) {
    for (uint64_t row = 0; row < items; ++row) {
      if (random() % 10 >= of_ten) continue;
      put_bit(bits.data(), row, true);
      rows.push_back(row);
    }
  }
  bool has(uint64_t row) const { return has_bit(bits.data(), row); }
  SortedRows sorted() const { return {rows.data(), std::ssize(rows)}; }
};

// The SIDs that have a row which is kept.
template <class Keeps>
Sids sids_with(const Snapshot& snapshot, const Keeps& keeps) {
  Sids out;
  const IndexView &base = snapshot.base.view, &delta = snapshot.delta.view;
  const auto add = [&](const IndexView& index, uint64_t ordinal, const auto& number_of) {
    const OrdinalRange rows = item_rows(index, ordinal);
    for (uint64_t row = rows.lo; row < rows.hi; ++row)
      if (keeps(number_of(row))) out.insert(sid_at(index, ordinal));
  };
  for (uint64_t i = 0; i < base.sids; ++i) add(base, i, [](uint64_t row) { return row; });
  for (uint64_t i = 0; i < delta.sids; ++i)
    add(delta, i, [&](uint64_t row) { return snapshot.overlay.view().rows[row]; });
  return out;
}

class OverlayRules : public ::testing::Test {
 protected:
  OverlayRules() : seed_(random_seed()), random_(seed_) {}

  // Compares what rules leave with the SIDs of the rows that are kept.
  template <class Keeps>
  void expect_left(const Snapshot& snapshot, const RulesView& rules, const Keeps& keeps) {
    const Sids allowed = sids_with(snapshot, keeps);
    ASSERT_EQ(allows_state(snapshot.view, &rules, {}), !allowed.empty());
    if (allowed.empty()) return;
    const Sids found = Walk(snapshot, &rules, allowed).run();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_EQ(found, allowed);
  }
  void run(const Snapshot& snapshot, const Tries& tries);

  uint64_t seed_;
  Random random_;
};

void OverlayRules::run(const Snapshot& snapshot, const Tries& tries) {
  const Allocator allocator = default_allocator();
  const uint64_t items = row_count(tries.index);
  const int threads = 1 + static_cast<int>(random_() % 3);
  const RandomRows live(items, random_, 8), rows(items, random_, 5), listed(items, random_, 1 + random_() % 6);
  const uint64_t* lives = random_() % 2 == 0 ? live.bits.data() : nullptr;
  const bool filtered = random_() % 3 != 0;
  const auto passes = [&](uint64_t row) { return !filtered || (rows.has(row) && (lives == nullptr || live.has(row))); };
  std::optional<FilterBits> filter;
  if (filtered) {
    filter.emplace(tries, rows.bits.data(), lives, threads, allocator);
    expect_left(snapshot, filter->view(), passes);
    ASSERT_EQ(filter->sids(), sids_with(snapshot, passes).size());
  }
  RequestRules lists, more;
  const RequestRules::Of of{tries, filtered ? &filter->view() : nullptr};
  lists.exclude(of, listed.sorted(), nullptr, allocator);
  expect_left(snapshot, lists.view(), [&](uint64_t row) { return passes(row) && !listed.has(row); });
  const RandomRows further(items, random_, 2);
  more.exclude(of, further.sorted(), &lists, allocator);
  expect_left(snapshot, more.view(),
              [&](uint64_t row) { return passes(row) && !listed.has(row) && !further.has(row); });
  more.allow_only(of, listed.sorted(), allocator);
  expect_left(snapshot, more.view(), [&](uint64_t row) { return passes(row) && listed.has(row); });
  std::vector<uint64_t> left(static_cast<size_t>(more.rows())), kept;
  more.listed_rows(tries.index, left.data());
  std::copy_if(listed.rows.begin(), listed.rows.end(), std::back_inserter(kept), passes);
  ASSERT_EQ(left, kept);
  if (!filtered) return;
  // The filter after a change, against one made anew.
  const RandomRows changed(items, random_, 3);
  RandomRows after(items, random_, 0);
  for (uint64_t row = 0; row < items; ++row) put_bit(after.bits.data(), row, rows.has(row) != changed.has(row));
  std::vector<uint64_t> differing;
  std::copy_if(changed.rows.begin(), changed.rows.end(), std::back_inserter(differing),
               [&](uint64_t row) { return lives == nullptr || live.has(row); });
  const FilterBits updated(tries, after.bits.data(), lives, *filter, {differing.data(), std::ssize(differing), true},
                           threads, allocator);
  const auto passes_now = [&](uint64_t row) { return after.has(row) && (lives == nullptr || live.has(row)); };
  expect_left(snapshot, updated.view(), passes_now);
  ASSERT_EQ(updated.sids(), sids_with(snapshot, passes_now).size());
}

TEST_F(OverlayRules, LeaveWhatOneOfTheTriesLeaves) {
  SCOPED_TRACE(seed_);
  for (int i = 0; i < kCases; ++i) {
    const Split split(trie_catalogue(random_), random_);
    const Snapshot snapshot(split.base, split.delta, random_, 1);
    const EdgeParents of_base(snapshot.base.view, 1, default_allocator());
    const EdgeParents of_delta(snapshot.delta.view, 1, default_allocator());
    run(snapshot, {snapshot.view, of_base, &of_delta});
    ASSERT_FALSE(HasFatalFailure()) << "case " << i;
  }
}

}  // namespace
}  // namespace sidbeam::testing
