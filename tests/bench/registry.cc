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
    // name, promise, exact ties, unconstrained, bytes a code
    {"trie", Promise::kConstrained, true, "none", 6, ours<SIDBEAM_STRATEGY_TRIE, kTrie>},
    {"trie_lse", Promise::kConstrained, false, "", 6, ours<SIDBEAM_STRATEGY_TRIE, kTrie>, true},
    {"trie_compact", Promise::kConstrained, true, "none", 8, ours<SIDBEAM_STRATEGY_TRIE, kTrie | kCompactTrie>},
    {"sorted", Promise::kConstrained, true, "none", 8, ours<SIDBEAM_STRATEGY_SORTED, kColumns>},
    {"sorted_top50", Promise::kApproximate, true, "none", 8, ours<SIDBEAM_STRATEGY_SORTED_TOPK, kColumns, kTopK>, false,
     "ppv_top50"},
    {"hash_final", Promise::kApproximate, true, "none", 8, ours<SIDBEAM_STRATEGY_HASH_FINAL, kColumns>},
    {"none", Promise::kUnconstrained, true, "", 0, ours<SIDBEAM_STRATEGY_NONE, kTrie>},
    {"trie_threads2", Promise::kConstrained, true, "none_threads2", 6, ours<SIDBEAM_STRATEGY_TRIE, kTrie, 0, 2>},
    {"none_threads2", Promise::kUnconstrained, true, "", 0, ours<SIDBEAM_STRATEGY_NONE, kTrie, 0, 2>},
    {"lse_only", Promise::kNoBeams, true, "", 0, lse_only},
    {"static", Promise::kConstrained, true, "unmasked_nth", 12, static_form<StaticForm::kPaper>},
    {"static_slots", Promise::kConstrained, true, "unmasked_nth", 12, static_form<StaticForm::kSlots>},
    {"mask_torch", Promise::kConstrained, false, "unmasked_torch", 12, masked<make_torch_selector>},
    {"mask_nth", Promise::kConstrained, true, "unmasked_nth", 12, masked<make_nth_selector>},
    {"mask_scan", Promise::kConstrained, true, "unmasked_scan", 12, masked<make_scan_selector>},
    {"unmasked_torch", Promise::kUnconstrained, false, "", 0, unmasked<make_torch_selector>},
    {"unmasked_nth", Promise::kUnconstrained, true, "", 0, unmasked<make_nth_selector>},
    {"unmasked_scan", Promise::kUnconstrained, true, "", 0, unmasked<make_scan_selector>},
    {"pointer_trie", Promise::kConstrained, true, "unmasked_nth", 220, masked_by<make_pointer_trie>},
    {"hash_bitmap", Promise::kApproximate, true, "unmasked_nth", 0, masked_by<make_hash_bitmap>},
    {"hash_set", Promise::kConstrained, true, "unmasked_nth", 32, masked_by<make_hash_set>},
    {"ppv_exact", Promise::kConstrained, true, "unmasked_nth", 0, masked_by<make_prefix_verification>},
    {"ppv_top50", Promise::kApproximate, true, "unmasked_nth", 0, ppv_top},
    {"flashrec", Promise::kApproximate, true, "unmasked_nth", 12, flashrec},
};

bool uses_threads(std::string_view name) { return name.find("_threads") != std::string_view::npos; }

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
  if (entry.name == std::string_view("trie_compact") && !has_kind(world.runtime(), kCompactTrie))
    return "left out: this library has no compact trie";
  if (uses_threads(entry.name) && !has_step_threads()) return "left out: this library steps on one thread";
  return "";
}

}  // namespace bench
