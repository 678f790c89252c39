// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "baselines/draws_method.h"
#include "baselines/lse_pass.h"
#include "baselines/masked_method.h"
#include "baselines/probe_method.h"
#include "baselines/split_verification.h"
#include "baselines/static_method.h"
#include "report.h"
#include "sidbeam_method.h"

namespace bench {
namespace {

using MethodPointer = std::unique_ptr<Method>;

constexpr int32_t kTopK = 50;  // of PPV's paper

template <int32_t strategy, int32_t kinds, int32_t top_k = 0, int32_t threads = 1>
MethodPointer ours(World& world, const Shape& shape) {
  return std::make_unique<SidbeamMethod>(world.runtime(threads), world.constraint(kinds), shape, strategy, top_k);
}

template <Rules rules>
MethodPointer under(World& world, const Shape& shape) {
  return std::make_unique<SidbeamMethod>(world.runtime(), world.ruled(rules), shape, SIDBEAM_STRATEGY_TRIE, 0);
}

template <Rules rules>
MethodPointer alone(World& world, const Shape& shape) {
  return std::make_unique<SidbeamMethod>(world.runtime(), world.allowed_alone(rules), shape, SIDBEAM_STRATEGY_TRIE, 0);
}

template <int64_t added>
MethodPointer live(World& world, const Shape& shape) {
  return std::make_unique<SidbeamMethod>(world.runtime(), world.live(added), shape, SIDBEAM_STRATEGY_TRIE, 0);
}

// With its top-k and top-p.
template <int32_t strategy, int32_t kinds, int32_t top_k = 0, int32_t percent = 100>
MethodPointer draws(World& world, const Shape& shape) {
  const Drawing drawing = {SIDBEAM_MODE_SAMPLE, top_k, static_cast<float>(percent) / 100};
  return std::make_unique<SidbeamMethod>(world.runtime(), world.constraint(kinds), shape, strategy, top_k, drawing);
}

// At another temperature, which no baseline has. Mode SEARCH or SAMPLE.
template <int32_t mode>
MethodPointer warm(World& world, const Shape& given) {
  Shape shape = given;
  shape.inverse_temperature = 0.8F;
  return std::make_unique<SidbeamMethod>(world.runtime(), world.constraint(SIDBEAM_KIND_TRIE), shape,
                                         SIDBEAM_STRATEGY_TRIE, 0, Drawing{mode, 0, 1});
}

// Scores over the valid codes. P, of which the beams have the log of the mass, is of the row or of the valid codes too.
template <int32_t mode, int32_t normalization>
MethodPointer valid(World& world, const Shape& given) {
  Shape shape = given;
  shape.normalization = normalization;
  return std::make_unique<SidbeamMethod>(world.runtime(), world.constraint(SIDBEAM_KIND_TRIE), shape,
                                         SIDBEAM_STRATEGY_TRIE, 0, Drawing{mode, 0, 1});
}

template <World::MakeValidity make, int32_t probes = 0>
MethodPointer draws_by(World& world, const Shape& shape) {
  return make_draws_method(&world.validity(make), shape, probes);
}

MethodPointer draws_dfa(World& world, const Shape& shape) { return make_draws_method(&world.static_trie(), shape, 0); }

MethodPointer random_numbers(World&, const Shape& shape) { return make_random_numbers(shape); }

template <MakeSelector make_selector>
MethodPointer masked(World& world, const Shape& shape) {
  return make_masked_method(&world.static_trie(), shape, make_selector);
}

template <MakeSelector make_selector>
MethodPointer unmasked(World&, const Shape& shape) {
  return make_masked_method(nullptr, shape, make_selector);
}

template <World::MakeValidity make>
MethodPointer masked_by(World& world, const Shape& shape) {
  return make_masked_method(&world.validity(make), shape, make_nth_selector);
}

template <StaticForm form>
MethodPointer static_form(World& world, const Shape& shape) {
  return make_static_method(&world.static_trie(), shape, form);
}

MethodPointer ppv_top(World& world, const Shape& shape) {
  return make_probe_method(&world.validity(make_prefix_verification), shape, kTopK);
}

MethodPointer flashrec(World& world, const Shape& shape) {
  return make_probe_method(&world.static_trie(), shape, 2 * shape.beams);
}

MethodPointer lse_only(World&, const Shape& shape) { return make_lse_pass(shape); }

constexpr auto kTrie = SIDBEAM_KIND_TRIE;
constexpr auto kColumns = SIDBEAM_KIND_HASH;  // has the sorted columns too
constexpr auto kSorted = SIDBEAM_KIND_SORTED;
constexpr auto kTrieDraws = SIDBEAM_STRATEGY_TRIE;
constexpr MethodEntry kMethods[] = {
    // name, maker, bytes per code, its unconstrained step, promise; exact ties, given, same as
    {"trie", ours<SIDBEAM_STRATEGY_TRIE, kTrie>, 6, "none", Promise::kConstrained},
    {"trie_lse", ours<SIDBEAM_STRATEGY_TRIE, kTrie>, 6, "", Promise::kConstrained, false, true},
    {"trie_compact", ours<SIDBEAM_STRATEGY_TRIE, kTrie | SIDBEAM_KIND_COMPACT_TRIE>, 8, "none", Promise::kConstrained},
    {"sorted", ours<SIDBEAM_STRATEGY_SORTED, kColumns>, 8, "none", Promise::kConstrained},
    {"sorted_top50", ours<SIDBEAM_STRATEGY_SORTED_TOPK, kColumns, kTopK>, 8, "none", Promise::kApproximate, true, false,
     "ppv_top50"},
    {"hash_final", ours<SIDBEAM_STRATEGY_HASH_FINAL, kColumns>, 8, "none", Promise::kApproximate},
    {"half", under<Rules::kHalf>, 7, "none", Promise::kDrawn, true, false, "half_alone"},
    {"half_alone", alone<Rules::kHalf>, 6, "none", Promise::kDrawn},
    {"seen", under<Rules::kSeen>, 7, "none", Promise::kDrawn, true, false, "seen_alone"},
    {"seen_alone", alone<Rules::kSeen>, 6, "none", Promise::kDrawn},
    {"half_seen", under<Rules::kBoth>, 7, "none", Promise::kDrawn, true, false, "half_seen_alone"},
    {"half_seen_alone", alone<Rules::kBoth>, 6, "none", Promise::kDrawn},
    {"live_1e3", live<1000>, 6, "none", Promise::kConstrained},
    {"live_1e5", live<100000>, 6, "none", Promise::kConstrained},
    {"none", ours<SIDBEAM_STRATEGY_NONE, kTrie>, 0, "", Promise::kUnconstrained},
    {"trie_threads2", ours<SIDBEAM_STRATEGY_TRIE, kTrie, 0, 2>, 6, "none_threads2", Promise::kConstrained},
    {"none_threads2", ours<SIDBEAM_STRATEGY_NONE, kTrie, 0, 2>, 0, "", Promise::kUnconstrained},
    {"lse_only", lse_only, 0, "", Promise::kNoBeams},
    {"static", static_form<StaticForm::kPaper>, 12, "unmasked_nth", Promise::kConstrained},
    {"static_slots", static_form<StaticForm::kSlots>, 12, "unmasked_nth", Promise::kConstrained},
    {"mask_torch", masked<make_torch_selector>, 12, "unmasked_torch", Promise::kConstrained, false},
    {"mask_nth", masked<make_nth_selector>, 12, "unmasked_nth", Promise::kConstrained},
    {"mask_scan", masked<make_scan_selector>, 12, "unmasked_scan", Promise::kConstrained},
    {"xbeam", masked<make_heap_selector>, 12, "unmasked_xbeam", Promise::kConstrained},
    {"xbeam_fresh", masked<make_fresh_heap_selector>, 12, "unmasked_xbeam", Promise::kConstrained},
    {"unmasked_torch", unmasked<make_torch_selector>, 0, "", Promise::kUnconstrained, false},
    {"unmasked_nth", unmasked<make_nth_selector>, 0, "", Promise::kUnconstrained},
    {"unmasked_scan", unmasked<make_scan_selector>, 0, "", Promise::kUnconstrained},
    {"unmasked_xbeam", unmasked<make_heap_selector>, 0, "", Promise::kUnconstrained},
    {"pointer_trie", masked_by<make_pointer_trie>, 220, "unmasked_nth", Promise::kConstrained},
    {"hash_bitmap", masked_by<make_hash_bitmap>, 0, "unmasked_nth", Promise::kApproximate},
    {"hash_set", masked_by<make_hash_set>, 32, "unmasked_nth", Promise::kConstrained},
    {"ppv_exact", masked_by<make_prefix_verification>, 0, "unmasked_nth", Promise::kConstrained},
    {"ppv_top50", ppv_top, 0, "unmasked_nth", Promise::kApproximate},
    {"trie_warm", warm<SIDBEAM_MODE_SEARCH>, 6, "", Promise::kNoBeams},
    {"draws_warm", warm<SIDBEAM_MODE_SAMPLE>, 6, "", Promise::kDrawn},
    {"valid", valid<SIDBEAM_MODE_SEARCH, SIDBEAM_NORMALIZE_VALID>, 6, "", Promise::kNoBeams},
    {"stochastic", valid<SIDBEAM_MODE_STOCHASTIC, SIDBEAM_NORMALIZE_VALID>, 6, "", Promise::kNoBeams},
    {"stochastic_mass", valid<SIDBEAM_MODE_STOCHASTIC, SIDBEAM_NORMALIZE_FULL>, 6, "", Promise::kNoBeams},
    {"draws", draws<kTrieDraws, kTrie>, 6, "draws_none", Promise::kDrawn},
    {"draws_top50", draws<kTrieDraws, kTrie, 50>, 6, "draws_none_top50", Promise::kDrawn},
    {"draws_top100", draws<kTrieDraws, kTrie, 100>, 6, "", Promise::kDrawn},
    {"draws_top500", draws<kTrieDraws, kTrie, 500>, 6, "", Promise::kDrawn},
    {"draws_top1000", draws<kTrieDraws, kTrie, 1000>, 6, "", Promise::kDrawn},
    {"draws_p95", draws<kTrieDraws, kTrie, 0, 95>, 6, "draws_none_p95", Promise::kDrawn},
    {"draws_none", draws<SIDBEAM_STRATEGY_NONE, kTrie>, 0, "", Promise::kDrawn},
    {"draws_none_top50", draws<SIDBEAM_STRATEGY_NONE, kTrie, 50>, 0, "", Promise::kDrawn},
    {"draws_none_p95", draws<SIDBEAM_STRATEGY_NONE, kTrie, 0, 95>, 0, "", Promise::kDrawn},
    {"draws_sorted", draws<SIDBEAM_STRATEGY_SORTED, kSorted>, 8, "", Promise::kDrawn, false, false, "draws"},
    {"draws_sorted_top50", draws<SIDBEAM_STRATEGY_SORTED_TOPK, kSorted, 50>, 8, "", Promise::kDrawn, false, false,
     "draws_top50"},
    {"draws_sorted_top100", draws<SIDBEAM_STRATEGY_SORTED_TOPK, kSorted, 100>, 8, "", Promise::kDrawn, false, false,
     "draws_top100"},
    {"draws_sorted_top500", draws<SIDBEAM_STRATEGY_SORTED_TOPK, kSorted, 500>, 8, "", Promise::kDrawn, false, false,
     "draws_top500"},
    {"draws_sorted_top1000", draws<SIDBEAM_STRATEGY_SORTED_TOPK, kSorted, 1000>, 8, "", Promise::kDrawn, false, false,
     "draws_top1000"},
    {"draws_pointer_trie", draws_by<make_pointer_trie>, 220, "", Promise::kDrawn, false, false, "draws"},
    {"draws_dfa", draws_dfa, 12, "", Promise::kDrawn, false, false, "draws"},
    {"draws_ppv", draws_by<make_prefix_verification>, 0, "", Promise::kDrawn, false, false, "draws"},
    {"draws_ppv_top50", draws_by<make_prefix_verification, 50>, 0, "", Promise::kDrawn, false, false, "draws_top50"},
    {"draws_split_top50", draws_by<make_split_verification, 50>, 0, "", Promise::kDrawn, false, false, "draws_top50"},
    {"draws_pieces_top50", draws_by<make_pieces_verification, 50>, 0, "", Promise::kDrawn, false, false, "draws_top50"},
    {"philox", random_numbers, 0, "", Promise::kNoBeams},
    {"flashrec", flashrec, 12, "unmasked_nth", Promise::kApproximate},
};

}  // namespace

const MethodEntry& find_method(const std::string& name) {
  const auto* found =
      std::find_if(std::begin(kMethods), std::end(kMethods), [&](const MethodEntry& m) { return name == m.name; });
  if (found == std::end(kMethods)) throw std::invalid_argument("no such method: " + name);
  return *found;
}

std::string why_not(const MethodEntry& entry, World& world, double most_bytes) {
  const Catalogue& catalogue = world.catalogue();
  const double bytes = entry.bytes_per_code * static_cast<double>(catalogue.sids) * catalogue.levels;
  if (bytes > most_bytes) return "left out: its structure would take about " + figure(bytes * 1e-9) + " GB";
  return "";
}

}  // namespace bench
