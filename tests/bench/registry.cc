// SPDX-License-Identifier: Apache-2.0
#include "registry.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <string_view>

#include "baselines/lse_pass.h"
#include "baselines/masked_method.h"
#include "baselines/probe_method.h"
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
constexpr MethodEntry kMethods[] = {
    // name, maker, bytes per code, its unconstrained step, promise; exact ties, given, same as
    {"trie", ours<SIDBEAM_STRATEGY_TRIE, kTrie>, 6, "none", Promise::kConstrained},
    {"trie_lse", ours<SIDBEAM_STRATEGY_TRIE, kTrie>, 6, "", Promise::kConstrained, false, true},
    {"trie_compact", ours<SIDBEAM_STRATEGY_TRIE, kTrie | SIDBEAM_KIND_COMPACT_TRIE>, 8, "none", Promise::kConstrained},
    {"sorted", ours<SIDBEAM_STRATEGY_SORTED, kColumns>, 8, "none", Promise::kConstrained},
    {"sorted_top50", ours<SIDBEAM_STRATEGY_SORTED_TOPK, kColumns, kTopK>, 8, "none", Promise::kApproximate, true, false,
     "ppv_top50"},
    {"hash_final", ours<SIDBEAM_STRATEGY_HASH_FINAL, kColumns>, 8, "none", Promise::kApproximate},
    {"none", ours<SIDBEAM_STRATEGY_NONE, kTrie>, 0, "", Promise::kUnconstrained},
    {"trie_threads2", ours<SIDBEAM_STRATEGY_TRIE, kTrie, 0, 2>, 6, "none_threads2", Promise::kConstrained},
    {"none_threads2", ours<SIDBEAM_STRATEGY_NONE, kTrie, 0, 2>, 0, "", Promise::kUnconstrained},
    {"lse_only", lse_only, 0, "", Promise::kNoBeams},
    {"static", static_form<StaticForm::kPaper>, 12, "unmasked_nth", Promise::kConstrained},
    {"static_slots", static_form<StaticForm::kSlots>, 12, "unmasked_nth", Promise::kConstrained},
    {"mask_torch", masked<make_torch_selector>, 12, "unmasked_torch", Promise::kConstrained, false},
    {"mask_nth", masked<make_nth_selector>, 12, "unmasked_nth", Promise::kConstrained},
    {"mask_scan", masked<make_scan_selector>, 12, "unmasked_scan", Promise::kConstrained},
    {"unmasked_torch", unmasked<make_torch_selector>, 0, "", Promise::kUnconstrained, false},
    {"unmasked_nth", unmasked<make_nth_selector>, 0, "", Promise::kUnconstrained},
    {"unmasked_scan", unmasked<make_scan_selector>, 0, "", Promise::kUnconstrained},
    {"pointer_trie", masked_by<make_pointer_trie>, 220, "unmasked_nth", Promise::kConstrained},
    {"hash_bitmap", masked_by<make_hash_bitmap>, 0, "unmasked_nth", Promise::kApproximate},
    {"hash_set", masked_by<make_hash_set>, 32, "unmasked_nth", Promise::kConstrained},
    {"ppv_exact", masked_by<make_prefix_verification>, 0, "unmasked_nth", Promise::kConstrained},
    {"ppv_top50", ppv_top, 0, "unmasked_nth", Promise::kApproximate},
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
