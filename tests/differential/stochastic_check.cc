// Stochastic beams: the same wherever they run, never a SID twice, and without noise the plain search.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include "sampling.h"

namespace differential {
namespace {

void check_distinct(const Paths& paths) {
  for (const auto& beams : paths) {
    std::set<std::pair<oracle::Sid, bool>> seen;
    for (const auto& beam : beams)
      if (beam) expect(seen.insert({beam->prefix, beam->ended}).second, text(beam->prefix), " is there twice");
  }
}

void expect_same(const Chunks& a, const Chunks& b, bool with_states, const std::string& what) {
  for (size_t r = 0; r < a.size(); ++r) {
    expect(a[r].size() == b[r].size(), what, ": request ", r, " has ", a[r].size(), " steps and ", b[r].size());
    for (size_t k = 0; k < a[r].size(); ++k)
      expect_same(a[r][k], b[r][k], with_states,
                  what + ": request " + std::to_string(r) + ", step " + std::to_string(k));
  }
}

// What a prefix has does not depend on the width, nor on the row that it is in.
void check_widths(const oracle::Catalogue& catalogue, const Request& request, const std::vector<Snapshot>& narrow,
                  const std::vector<Snapshot>& wide) {
  const Paths few = paths_of(catalogue, request.prefix, narrow), many = paths_of(catalogue, request.prefix, wide);
  for (size_t k = 0; k < std::min(few.size(), many.size()); ++k) {
    const Snapshot &a = narrow[k], &b = wide[k];
    std::map<oracle::Sid, size_t> rows;
    for (size_t m = 0; m < many[k].size(); ++m)
      if (many[k][m]) rows[many[k][m]->prefix] = m;
    for (size_t i = 0; i < few[k].size(); ++i) {
      const auto found = few[k][i] ? rows.find(few[k][i]->prefix) : rows.end();
      if (found == rows.end() || few[k][i]->ended != many[k][found->second]->ended) continue;
      const size_t m = found->second;
      expect(
          same_bits({a.scores[i], a.perturbed[i], a.log_masses[i]}, {b.scores[m], b.perturbed[m], b.log_masses[m]}) &&
              a.states[i] == b.states[m],
          "step ", k, ": ", text(found->first), " has perturbed score ", a.perturbed[i], " in row ", i, " and ",
          b.perturbed[m], " in row ", m, " of more");
    }
  }
  // Of the first step alone: those that were left out later may have been left out before.
  const size_t width = narrow[0].perturbed.size();
  if (wide[0].perturbed.size() != width + 1 || narrow.size() < 2) return;
  expect(same_bits({narrow[1].threshold}, {wide[1].perturbed[width]}), "threshold ", narrow[1].threshold,
         ", and the next beam has ", wide[1].perturbed[width]);
}

// What a search says of the same.
void drop_noise(Chunks& chunks) {
  for (auto& after : chunks)
    for (Snapshot& now : after) {
      now.log_masses = now.perturbed = now.log_inclusions = {};
      now.threshold = 0;
    }
}

}  // namespace

void check_stochastic(const Machine& machine, const World& world, const std::vector<Loaded>& loaded,
                      Coverage* coverage) {
  const Model model(world);
  std::vector<Request> requests = draw_requests(world);
  uint64_t hash = mix(world.seed(), kDrawSampling, 2000);
  const auto arranged = [&](const Way& way, const Loaded& where, int strategy) {
    const auto slots = static_cast<int64_t>(1 + mix(++hash, 1) % 6);
    return Arrangement{way, where, strategy, 0, slots, world.c.beams, whole_chunks(world, requests), hash};
  };
  const Chunks plain = run(world, model, requests, arranged(machine.best(), loaded[0], SIDBEAM_STRATEGY_TRIE));
  for (size_t r = 0; r < requests.size(); ++r)
    check_distinct(paths_of(world.catalogues[0], requests[r].prefix, plain[r]));
  for (const Way& way : machine.ways) {
    expect_same(run(world, model, requests, arranged(way, loaded[0], SIDBEAM_STRATEGY_TRIE)), plain, true,
                "stochastic, on " + way.name);
    ++(*coverage)["stochastic runs on " + way.name];
  }
  const Way& way = machine.for_seed(world.seed());
  expect_same(run(world, model, requests, arranged(way, load_other_trie(machine, world), SIDBEAM_STRATEGY_TRIE)), plain,
              false, "stochastic, with the other form of the trie");
  if (!world.catalogues[0].sids.empty()) {  // columns take no rules, but an index of what they allow
    const Loaded allowed = world.parts.empty() ? Loaded() : load_allowed(machine.best().runtime.get(), world, 0);
    expect_same(
        run(world, model, requests, arranged(way, world.parts.empty() ? loaded[0] : allowed, SIDBEAM_STRATEGY_SORTED)),
        plain, false, "stochastic, with sorted");
  }

  for (const int64_t beams : {std::min<int64_t>(world.c.beams + 1, SIDBEAM_MAX_BEAMS), 1 + world.c.beams / 2}) {
    World other = world;
    other.c.beams = beams;
    Arrangement at = arranged(way, loaded[0], SIDBEAM_STRATEGY_TRIE);
    at.beams = beams;
    at.chunks = whole_chunks(other, requests);
    const Chunks elsewhere = run(world, model, requests, at);
    for (size_t r = 0; r < requests.size(); ++r) {
      check_widths(world.catalogues[0], requests[r], beams > world.c.beams ? plain[r] : elsewhere[r],
                   beams > world.c.beams ? elsewhere[r] : plain[r]);
    }
  }

  // P's normaliser reads more than the valid codes: it may find a bad element where the search finds none.
  const bool over_valid = world.c.normalization == SIDBEAM_NORMALIZE_VALID;
  if (!over_valid && (world.c.bad_rows != 0 || world.c.given_lse == 3 || world.c.distribution == 7)) return;
  for (Request& request : requests) request.noise = 0;
  Chunks silent = run(world, model, requests, arranged(way, loaded[0], SIDBEAM_STRATEGY_TRIE));
  drop_noise(silent);
  World search = world;
  search.c.mode = SIDBEAM_MODE_SEARCH;
  search.c.normalization = SIDBEAM_NORMALIZE_VALID;
  if (!over_valid) search.c.given_lse = 0;
  const Model searched(search);
  expect_same(silent, run(search, searched, requests, arranged(machine.best(), loaded[0], SIDBEAM_STRATEGY_TRIE)), true,
              "without noise, and the search");
  ++(*coverage)["stochastic runs without noise"];
}

}  // namespace differential
