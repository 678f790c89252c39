// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <algorithm>
#include <numeric>

#include "../random_version.h"

namespace sampling {
namespace {

using handles::check;
using handles::made;

constexpr int32_t kBeams = SIDBEAM_MAX_BEAMS;

handles::Index build(sidbeam_runtime* runtime, const oracle::Catalogue& catalogue, bool live) {
  const std::vector<int32_t> codes(catalogue.codes.begin(), catalogue.codes.end());
  handles::SidRows rows;
  for (const oracle::Sid& sid : catalogue.sids) {
    rows.lengths.push_back(static_cast<int32_t>(sid.size()));
    rows.codes.insert(rows.codes.end(), sid.begin(), sid.end());
    rows.codes.resize(rows.lengths.size() * codes.size(), -1);
  }
  if (live) return handles::make_version(runtime, codes, rows, catalogue.variable, 1);
  const handles::Builder builder = handles::make_builder(runtime, codes, rows, catalogue.variable);
  return made<handles::Index>([&](auto out, auto err) { return sidbeam_builder_finish(builder.get(), out, err); });
}

// Adds a prefix and what continues it; returns its node.
int32_t add_node(Library& library, const oracle::Sid& prefix) {
  const oracle::Catalogue& catalogue = library.model.catalogue;
  if (prefix.size() == catalogue.codes.size()) return -1;
  const auto node = static_cast<int32_t>(library.children.size());
  const std::vector<float> row = library.model.row_of(prefix);
  library.columns = static_cast<int64_t>(row.size());
  library.rows.insert(library.rows.end(), row.begin(), row.end());
  const int end = catalogue.codes[prefix.size()];
  library.children.emplace_back(static_cast<size_t>(end) + 1, -1);
  for (const int code : oracle::children(catalogue, prefix)) {
    if (code == end) continue;
    oracle::Sid next = prefix;
    next.push_back(code);
    const int32_t child = add_node(library, next);
    library.children[static_cast<size_t>(node)][static_cast<size_t>(code)] = child;
  }
  return node;
}

int32_t normalization_of(oracle::Normalization normalization) {
  switch (normalization) {
    case oracle::Normalization::kFull:
      return SIDBEAM_NORMALIZE_FULL;
    case oracle::Normalization::kLevel:
      return SIDBEAM_NORMALIZE_LEVEL;
    case oracle::Normalization::kValid:
      return SIDBEAM_NORMALIZE_VALID;
    default:
      return SIDBEAM_NORMALIZE_NONE;
  }
}

handles::Session make_session(const Library& library, int32_t mode, int32_t slots, int32_t beams) {
  const oracle::Rules& rules = library.model.rules;
  std::vector<std::vector<int32_t>> columns;
  std::vector<const int32_t*> maps;
  std::vector<int64_t> lengths;
  for (const auto& level : rules.columns) columns.emplace_back(level.begin(), level.end());
  for (const auto& level : columns) {
    maps.push_back(level.data());
    lengths.push_back(static_cast<int64_t>(level.size()));
  }
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = static_cast<int32_t>(maps.size());
  vocabulary.maps = maps.data();
  vocabulary.map_codes = lengths.data();
  vocabulary.end_column = rules.end_column;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.slots = slots;
  config.beams = beams;
  config.normalization = normalization_of(rules.normalization);
  config.constraint = library.constraint.get();
  config.vocabulary = &vocabulary;
  config.mode = mode;
  return made<handles::Session>(
      [&](auto out, auto err) { return sidbeam_session_create(library.runtime.get(), &config, out, err); });
}

sidbeam_beams beams_of(const handles::Session& session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  check([&](sidbeam_error* err) { return sidbeam_session_get_beams(session.get(), &beams, err); });
  return beams;
}

// -1: the catalogue has no such prefix.
int32_t node_of(const Library& library, const oracle::Sid& prefix) {
  int32_t node = 0;
  for (const int code : prefix)
    node = node < 0 ? -1 : library.children[static_cast<size_t>(node)][static_cast<size_t>(code)];
  return node;
}

// Steps slots [0, slots) from a node to their end, feeding each beam its prefix's row.
void step_to_end(const Library& library, const handles::Session& session, int32_t slots, int32_t node = 0) {
  const sidbeam_beams beams = beams_of(session);
  const auto width = static_cast<size_t>(beams.beams), all = static_cast<size_t>(slots) * width;
  std::vector<int32_t> nodes(all, -1), next(all);
  for (size_t s = 0; s < all; s += width) nodes[s] = node;
  const sidbeam_rows rows = sidbeam_rows_dense(library.rows.data(), SIDBEAM_DTYPE_F32, 0,
                                               static_cast<int64_t>(library.children.size()), library.columns);
  std::vector<int32_t> listed;
  for (;;) {
    listed.clear();
    for (int32_t s = 0; s < slots; ++s)
      if (beams.active[s] > 0) listed.push_back(s);
    if (listed.empty()) return;
    std::vector<int32_t> map;
    for (const int32_t s : listed)
      map.insert(map.end(), &nodes[static_cast<size_t>(s) * width], &nodes[static_cast<size_t>(s) * width] + width);
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    step.slots = listed.data();
    step.count = static_cast<int64_t>(listed.size());
    step.rows = &rows;
    step.row_map = map.data();
    step.inverse_temperature = library.model.rules.inverse_temperature;
    step.soft_cap = library.model.rules.soft_cap;
    check([&](sidbeam_error* err) { return sidbeam_session_step(session.get(), &step, err); });
    for (const int32_t s : listed) {
      const size_t first = static_cast<size_t>(s) * width;
      for (size_t m = first; m < first + width; ++m) {
        const int32_t parent = beams.parents[m], code = beams.codes[m];
        const int32_t before = parent < 0 ? -1 : nodes[first + static_cast<size_t>(parent)];
        next[m] =
            before < 0 || code < 0 ? -1 : library.children[static_cast<size_t>(before)][static_cast<size_t>(code)];
      }
      std::copy_n(next.begin() + static_cast<std::ptrdiff_t>(first), width,
                  nodes.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
}

// Appends what beams [0, count) are; counts are those of all slots.
void append(const handles::Session& session, int64_t count, Draws& to) {
  const sidbeam_beams beams = beams_of(session);
  std::vector<int64_t> ordinals(static_cast<size_t>(beams.slots) * static_cast<size_t>(beams.beams));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = ordinals.data();
  check([&](sidbeam_error* err) { return sidbeam_session_get_items(session.get(), nullptr, 0, &items, err); });
  to.ordinals.insert(to.ordinals.end(), ordinals.begin(), ordinals.begin() + count);
  to.log_p.insert(to.log_p.end(), beams.scores, beams.scores + count);
  to.log_x.insert(to.log_x.end(), beams.log_masses, beams.log_masses + count);
  for (int32_t s = 0; s < beams.slots; ++s) to.live += beams.live[s], to.errors |= beams.errors[s];
}

// The better by P of each pair, of equal ones the lower ordinal; dead where both are.
Draws better_of_two(const Library& library, int64_t seed, std::span<const int64_t> numbers) {
  const Beams beams = stochastic_beams(library, seed, numbers, 2);
  Draws best;
  for (size_t i = 0; i < 2 * numbers.size(); i += 2) {
    // The scores of stochastic beams are log-probabilities over the valid codes: log P - log x.
    const auto log_p = [&](size_t k) { return beams.draws.log_p[k] + beams.draws.log_x[k]; };
    const bool second = beams.draws.ordinals[i + 1] >= 0 &&
                        (log_p(i + 1) > log_p(i) ||
                         (log_p(i + 1) == log_p(i) && beams.draws.ordinals[i + 1] < beams.draws.ordinals[i]));
    const size_t k = second ? i + 1 : i;
    best.ordinals.push_back(beams.draws.ordinals[k]);
    best.log_p.push_back(log_p(k));
    best.log_x.push_back(beams.draws.log_x[k]);
  }
  return best;
}

}  // namespace

Library make_library(const oracle::Model& model, bool live) {
  Library library;
  library.model = model;
  library.runtime = handles::make_runtime();
  library.index = build(library.runtime.get(), model.catalogue, live);
  library.constraint = handles::make_constraint(library.index.get());
  add_node(library, {});
  return library;
}

Draws draw(const Library& library, const oracle::DrawKey& request, std::span<const int64_t> numbers,
           const DrawRun& run) {
  Draws draws;
  const int32_t top_k = library.model.truncation.top_k;
  const auto top_p = static_cast<float>(library.model.truncation.top_p);
  const std::vector<int32_t> prefix(run.prefix.begin(), run.prefix.end());
  const auto decided = static_cast<int32_t>(prefix.size());
  const auto most = static_cast<int32_t>(std::clamp<size_t>(numbers.size(), 1, kBeams));
  const handles::Session session = make_session(library, SIDBEAM_MODE_SAMPLE, 1, most);
  for (size_t at = 0; at < numbers.size(); at += kBeams) {
    const auto width = static_cast<int32_t>(std::min<size_t>(kBeams, numbers.size() - at));
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = &request.seed;
    sampling.requests = &request.request;
    sampling.draws = numbers.data() + at;
    if (!run.without_arrays) sampling.top_ks = &top_k, sampling.top_ps = &top_p;
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.widths = &width;
    start.prefixes = prefix.data();
    start.prefix_lengths = &decided;
    start.prefix_stride = decided;
    start.sampling = &sampling;
    check([&](sidbeam_error* err) { return sidbeam_session_start(session.get(), &start, err); });
    step_to_end(library, session, 1, node_of(library, run.prefix));
    append(session, width, draws);
  }
  return draws;
}

Draws draw_first(const Library& library, const oracle::DrawKey& request, int64_t count, const DrawRun& run) {
  return draw(library, request, first_numbers(count), run);
}

Beams stochastic_beams(const Library& library, int64_t seed, std::span<const int64_t> requests, int32_t width) {
  constexpr int32_t kSlots = 512;
  Beams result;
  const handles::Session session = make_session(library, SIDBEAM_MODE_STOCHASTIC, kSlots, width);
  const sidbeam_beams beams = beams_of(session);
  const std::vector<int64_t> seeds(kSlots, seed);
  std::vector<int32_t> slots(kSlots);
  std::iota(slots.begin(), slots.end(), 0);
  for (size_t at = 0; at < requests.size(); at += kSlots) {
    const auto count = static_cast<int32_t>(std::min<size_t>(kSlots, requests.size() - at));
    sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
    sampling.seeds = seeds.data();
    sampling.requests = requests.data() + at;
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.slots = slots.data();
    start.count = count;
    start.sampling = &sampling;
    check([&](sidbeam_error* err) { return sidbeam_session_start(session.get(), &start, err); });
    step_to_end(library, session, count);
    append(session, int64_t{count} * width, result.draws);
    const auto copy = [&](const float* from, int32_t n, std::vector<float>& to) {
      to.insert(to.end(), from, from + n);
    };
    copy(beams.perturbed, count * width, result.perturbed);
    copy(beams.log_inclusions, count * width, result.log_q);
    copy(beams.thresholds, count, result.thresholds);
  }
  return result;
}

DiscResults disc(const Library& library, const oracle::DrawKey& request, const DiscRun& run) {
  sidbeam_disc_config config = SIDBEAM_DISC_CONFIG_INIT;
  config.results = run.results;
  config.rounds = run.rounds;
  config.without_replacement = run.without_replacement ? 1 : 0;
  config.side_by_side = run.side_by_side;
  config.seed = request.seed;
  config.request = request.request;
  const auto disc = made<handles::Disc>(
      [&](auto out, auto err) { return sidbeam_disc_create(library.runtime.get(), &config, out, err); });
  const int64_t most = std::min<int64_t>(1 << 20, int64_t{2} * run.rounds * run.results);
  std::vector<int64_t> numbers;
  for (;;) {
    numbers.resize(static_cast<size_t>(most));
    int64_t count = 0;
    check([&](sidbeam_error* err) {
      return sidbeam_disc_next(disc.get(), static_cast<int64_t>(numbers.size()), numbers.data(), &count, err);
    });
    if (count == 0) break;
    numbers.resize(static_cast<size_t>(count));
    Draws draws = run.beams_of_two ? better_of_two(library, request.seed, numbers) : draw(library, request, numbers);
    for (size_t i = 0; i < numbers.size(); ++i) draws.log_x[i] += draws.ordinals[i] == 0 ? run.tilt : 0;
    sidbeam_disc_draws added = SIDBEAM_DISC_DRAWS_INIT;
    added.count = count;
    added.draws = numbers.data();
    added.ordinals = draws.ordinals.data();
    added.log_probs = draws.log_p.data();
    added.log_masses = draws.log_x.data();
    check([&](sidbeam_error* err) { return sidbeam_disc_add(disc.get(), &added, err); });
  }
  const auto n = static_cast<size_t>(run.results);
  DiscResults results;
  results.draws.ordinals.resize(n), results.draws.log_p.resize(n), results.draws.log_x.resize(n);
  results.numbers.resize(n), results.used.resize(n), results.rows.resize(n), results.accepted.resize(n);
  sidbeam_disc_results out = SIDBEAM_DISC_RESULTS_INIT;
  out.ordinals = results.draws.ordinals.data();
  out.draws = results.numbers.data();
  out.accepted = results.accepted.data();
  out.draws_used = results.used.data();
  out.rows_run = results.rows.data();
  out.log_probs = results.draws.log_p.data();
  out.log_masses = results.draws.log_x.data();
  check([&](sidbeam_error* err) { return sidbeam_disc_get(disc.get(), &out, err); });
  return results;
}

std::vector<int64_t> first_numbers(int64_t count) {
  std::vector<int64_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

std::vector<int64_t> count(const Draws& draws, size_t sids) {
  std::vector<int64_t> counts(sids + 1);
  for (const int64_t ordinal : draws.ordinals) ++counts[ordinal < 0 ? sids : static_cast<size_t>(ordinal)];
  return counts;
}

std::vector<int64_t> count_pairs(const Draws& draws, size_t sids) {
  std::vector<int64_t> counts(sids * sids);
  for (size_t i = 0; i + 1 < draws.ordinals.size(); i += 2)
    ++counts.at(static_cast<size_t>(draws.ordinals[i]) * sids + static_cast<size_t>(draws.ordinals[i + 1]));
  return counts;
}

}  // namespace sampling
