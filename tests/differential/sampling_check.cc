// Draws depend on nothing that they should not, and are the oracle's.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "sampling.h"

namespace differential {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// How far weights of codes are from the oracle's: exp by 4e-7, and a soft-cap's x by a few units in its last place.
double rounding(const Request& request) {
  const Settings settings = followed({}, request.settings);
  const double t = settings.inverse_temperature == 0 ? 1 : double{settings.inverse_temperature};
  return 1e-5 + 5e-7 * t * double{settings.soft_cap};
}

// What a draw finds in the row of its prefix.
struct RowFacts {
  int error = 0;
  bool empty = false;  // a row without candidates, by the caller's lse
  oracle::Level level;
  std::optional<float> lse;
};

// The facts of a request's prefixes.
class Facts {
 public:
  Facts(const World& world, const Model& model, const Request& request)
      : world_(world), model_(model), request_(request), oracle_{world.catalogues[0], world.rules, {}, {}} {
    oracle_.rules = rules_under(world, followed({}, request.settings));
    oracle_.row_of = [&](const oracle::Sid& prefix) { return elements_read(prefix); };
    oracle_.truncation = {request.top_k, double{request.top_p}};
  }

  const RowFacts& of(const oracle::Sid& prefix) {
    const auto [found, is_new] = rows_.try_emplace(prefix);
    if (is_new) found->second = make(prefix);
    return found->second;
  }
  float x(const oracle::Sid& prefix, int code) const {
    return transformed(elements(prefix)[static_cast<size_t>(column_of(prefix, code))]);
  }

 private:
  int column_of(const oracle::Sid& prefix, int code) const {
    const bool ends = code == oracle_.catalogue.codes[prefix.size()];
    return ends ? world_.rules.end_column : world_.rules.columns[prefix.size()][static_cast<size_t>(code)];
  }
  std::vector<float> elements(const oracle::Sid& prefix) const { return decoded(world_, model_.row(prefix)).elements; }
  float transformed(float element) const {
    return oracle::transformed(element, oracle_.rules.soft_cap, oracle_.rules.inverse_temperature);
  }

  RowFacts make(const oracle::Sid& prefix) const {
    RowFacts facts;
    if (!request_.truncates()) facts.lse = decoded(world_, model_.row(prefix)).lse;
    facts.empty = facts.lse && *facts.lse == -kInfinity;
    if (facts.empty) return facts;
    if (facts.lse && !std::isfinite(*facts.lse)) {
      facts.error = SIDBEAM_SLOT_BAD_LSE;
    } else if (reads_bad(prefix)) {
      facts.error = SIDBEAM_SLOT_BAD_ROW;
    } else {
      facts.level = oracle::make_level(oracle_, prefix);
    }
    return facts;
  }

  bool reads_row() const {
    const bool level = world_.rules.normalization == oracle::Normalization::kLevel;
    const bool full = world_.rules.normalization == oracle::Normalization::kFull;
    return request_.truncates() || (world_.c.given_lse == 0 && (level || full));
  }
  // The columns that P is made of: of the row, the level, or the codes that may follow.
  std::vector<int> columns_read(const oracle::Sid& prefix) const {
    const bool level = world_.rules.normalization == oracle::Normalization::kLevel;
    std::vector<int> columns;
    if (reads_row() && !level) {
      columns.resize(elements(prefix).size());
      std::iota(columns.begin(), columns.end(), 0);
    } else if (reads_row() || world_.rules.strategy == oracle::Strategy::kNone) {
      for (int code = 0; code < oracle_.catalogue.codes[prefix.size()]; ++code)
        columns.push_back(column_of(prefix, code));
      if (oracle_.catalogue.variable) columns.push_back(world_.rules.end_column);
    } else {
      for (const int code : oracle::children(oracle_.catalogue, prefix)) columns.push_back(column_of(prefix, code));
    }
    return columns;
  }
  bool reads_bad(const oracle::Sid& prefix) const {
    const std::vector<float> row = elements(prefix);
    const std::vector<int> columns = columns_read(prefix);
    return std::any_of(columns.begin(), columns.end(), [&](int column) {
      const float x = transformed(row[static_cast<size_t>(column)]);
      return std::isnan(x) || x == kInfinity;
    });
  }
  // The row, -inf where it is not read.
  std::vector<float> elements_read(const oracle::Sid& prefix) const {
    const std::vector<float> row = elements(prefix);
    std::vector<float> read(row.size(), -kInfinity);
    for (const int column : columns_read(prefix)) read[static_cast<size_t>(column)] = row[static_cast<size_t>(column)];
    return read;
  }

  const World& world_;
  const Model& model_;
  const Request& request_;
  oracle::Model oracle_;
  std::map<oracle::Sid, RowFacts> rows_;
};

double ulp(float value) { return double{std::nextafter(std::fabs(value), kInfinity)} - std::fabs(double{value}); }

// A request's draws against the oracle, level by level, and how many of them lay near a boundary.
struct OracleCheck {
  const World& world;
  const Request& request;
  Facts& facts;
  Coverage& coverage;
  double expected_near = 0;
  int64_t near = 0;

  // Whether P is x less a given number.
  bool is_given() const {
    return !request.truncates() && (world.c.given_lse != 0 || world.c.normalization == SIDBEAM_NORMALIZE_NONE);
  }
  bool is_valid_only() const { return !request.truncates() && world.c.normalization == SIDBEAM_NORMALIZE_VALID; }

  void check_sums(const oracle::Beam& before, const RowFacts& row, size_t i, const std::array<float, 4>& sums) const {
    const auto [score, score_before, mass, mass_before] = sums;
    double log_p = std::log(row.level.p[i]), log_mass = std::log(row.level.mass);
    if (is_given()) {
      const double x = double{facts.x(before.prefix, row.level.codes[i])} - double{row.lse.value_or(0.0F)};
      log_mass += x - log_p;
      log_p = x;
    } else if (is_valid_only()) {
      log_p -= log_mass;
      log_mass = 0;
    }
    if (!is_given()) log_mass = std::min(0.0, log_mass);  // codes that share a column may have more mass than the row
    const double allowed = 2 * rounding(request) + 4e-7 * (std::fabs(log_p) + std::fabs(log_mass));
    const auto near_to = [&](const char* what, float after, float from, double expected) {
      const double exact = double{from} + expected;
      expect(std::fabs(double{after} - exact) <= allowed + 4 * (ulp(after) + ulp(from)), what, " after ",
             text(before.prefix), " is ", after, ", expected ", exact);
    };
    near_to("score", score, score_before, log_p);
    near_to("log mass", mass, mass_before, log_mass);
  }

  // Draw m, in its step to snapshot `now` of level l + 1; `from` is the beam of `before` that it was drawn from.
  void check_draw(const oracle::Beam& from, size_t m, size_t parent, const Snapshot& before, const Snapshot& now) {
    const RowFacts& row = facts.of(from.prefix);
    const bool died = now.parents[m] == -1;
    if (row.error != 0 || row.empty || row.level.codes.empty()) {
      // Masses below the range of float64 are no part of the oracle's.
      if (died || row.error != 0 || row.empty) return expect(died, "draw ", m, " lives after a row without candidates");
      return expect(before.log_masses[parent] < -1e6F || now.log_masses[m] - before.log_masses[parent] < -700, "draw ",
                    m, " lives, the oracle's has nothing to draw");
    }
    if (std::log(row.level.mass) < -600 || world.c.distribution == 7 || rounding(request) > 1e-3) return;
    if (row.level.margin < rounding(request) || (request.truncates() && request.settings.soft_cap != 0)) {
      ++coverage["rows whose truncation is within rounding"];
      return;
    }
    expect(!died, "draw ", m, " after ", text(from.prefix), " died");
    double margin = 1;
    const auto level = static_cast<int>(from.prefix.size());
    const int64_t number = request.first_draw + static_cast<int64_t>(m);
    const size_t i = oracle::choose_code(row.level, {request.seed, request.request, number}, level, margin);
    const bool close = margin < rounding(request);
    near += close ? 1 : 0;
    expected_near += std::min(1.0, 2 * rounding(request) * static_cast<double>(row.level.codes.size() - 1));
    ++coverage["draws compared with the oracle"];
    if (close) ++coverage["draws within rounding of a boundary"];
    const bool same = row.level.codes[i] == now.codes[m];
    expect(same || close, "draw ", m, " after ", text(from.prefix), ": code ", now.codes[m], ", the oracle's is ",
           row.level.codes[i], ", margin ", margin);
    if (same)
      check_sums(from, row, i, {now.scores[m], before.scores[parent], now.log_masses[m], before.log_masses[parent]});
  }
};

// Which flags a draw's rows raise, [step + 1][draw], those before included.
std::vector<std::vector<int>> errors_of(Facts& facts, const Paths& paths, const std::vector<Snapshot>& after,
                                        int levels) {
  std::vector<std::vector<int>> errors{std::vector<int>(paths[0].size())};
  for (size_t k = 1; k < after.size(); ++k) {
    errors.push_back(errors.back());
    for (size_t m = 0; m < paths[k].size(); ++m) {
      const auto& from = paths[k - 1][k == 1 ? 0 : m];
      if (!from || from->ended || static_cast<int>(from->prefix.size()) == levels) continue;
      errors.back()[m] |= facts.of(from->prefix).error;
      const bool overflow = paths[k][m] == std::nullopt && facts.of(from->prefix).error == 0;
      if (overflow) errors.back()[m] |= -1;  // the flag cannot be foretold: its score may be beyond the range of f32
    }
  }
  return errors;
}

// -1 where a draw died of what may have been an overflow, which rows of 1e30 and more have.
void check_error(const World& world, int error, const std::vector<int>& of_draws, const std::string& what) {
  int expected = 0;
  bool known = true;
  for (const int flags : of_draws) {
    known = known && (flags != -1 || world.c.distribution != 7);
    if (flags != -1) expected |= flags;
  }
  expect(!known || error == expected, what, ": error flags are ", error, " and should be ", expected);
}

struct Reference {
  const World& world;
  const Model& model;
  const std::vector<Request>& requests;
  std::vector<Chunk> chunks;  // [request]
  Chunks after;
  std::vector<Paths> paths;
  std::vector<std::vector<std::vector<int>>> errors;  // [request][step + 1][draw]
  Coverage& coverage;
};

void check_parents(const std::vector<Snapshot>& after) {
  for (size_t k = 1; k < after.size(); ++k)
    for (size_t m = 0; m < after[k].parents.size(); ++m) {
      const int32_t parent = after[k].parents[m], own = k == 1 ? 0 : static_cast<int32_t>(m);
      expect(parent == own || parent == -1, "step ", k, ": draw ", m, " has parent ", parent);
      expect(parent != -1 || (after[k].codes[m] == -1 && after[k].states[m] == -1 && after[k].scores[m] == -kInfinity &&
                              after[k].log_masses[m] == -kInfinity),
             "step ", k, ": draw ", m, " is half dead");
      if (k > 1) expect(parent == -1 || after[k - 1].parents[m] != -1, "step ", k, ": draw ", m, " has come to life");
    }
}

void check_request(Reference& reference, size_t r) {
  const World& world = reference.world;
  const std::vector<Snapshot>& after = reference.after[r];
  const Paths& paths = reference.paths[r];
  check_parents(after);
  Facts facts(world, reference.model, reference.requests[r]);
  reference.errors.push_back(errors_of(facts, paths, after, world.catalogues[0].levels()));
  OracleCheck check{world, reference.requests[r], facts, reference.coverage};
  for (size_t k = 1; k < after.size(); ++k) {
    check_error(world, after[k].error, reference.errors[r][k], "step " + std::to_string(k));
    const auto live =
        std::count_if(paths[k].begin(), paths[k].end(), [](const auto& beam) { return beam.has_value(); });
    expect(after[k].live == live, "step ", k, ": live is ", after[k].live, " and should be ", live);
    for (size_t m = 0; m < paths[k].size(); ++m) {
      const size_t parent = k == 1 ? 0 : m;
      const auto& from = paths[k - 1][parent];
      if (from && !from->ended) check.check_draw(*from, m, parent, after[k - 1], after[k]);
    }
  }
  expect(static_cast<double>(check.near) <= 4 + 10 * check.expected_near, check.near,
         " draws within rounding of a boundary, expected ", check.expected_near);
}

// Every draw of a run elsewhere is the reference's, step by step.
void check_same(const Reference& reference, const Arrangement& at, bool with_states, const std::string& what) {
  const World& world = reference.world;
  const Chunks elsewhere = run(world, reference.model, reference.requests, at);
  for (size_t i = 0; i < at.chunks.size(); ++i) {
    const Chunk& chunk = at.chunks[i];
    const size_t r = chunk.request;
    const std::vector<Snapshot>& all = reference.after[r];
    expect(elsewhere[i].size() <= all.size(), what, ": request ", r, " has more steps");
    for (size_t k = 1; k < elsewhere[i].size(); ++k) {
      const Snapshot &now = elsewhere[i][k], &then = all[k];
      std::vector<int> errors;
      for (size_t n = 0; n < chunk.draws.size(); ++n) {
        const auto m = static_cast<size_t>(chunk.draws[n]);
        errors.push_back(reference.errors[r][k][m]);
        const bool same = now.codes[n] == then.codes[m] && same_bits({now.scores[n]}, {then.scores[m]}) &&
                          same_bits({now.log_masses[n]}, {then.log_masses[m]}) &&
                          (!with_states || now.states[n] == then.states[m]);
        expect(same, what, ": request ", r, ", draw ", m, ", step ", k, ": (code ", now.codes[n], ", score ",
               now.scores[n], ", log mass ", now.log_masses[n], ", state ", now.states[n], ") and (", then.codes[m],
               ", ", then.scores[m], ", ", then.log_masses[m], ", ", then.states[m], ")");
      }
      check_error(world, now.error, errors, what + ": request " + std::to_string(r) + ", step " + std::to_string(k));
    }
    if (elsewhere[i].size() == all.size()) continue;
    for (const int64_t draw : chunk.draws) {  // nothing of it went on
      const auto& last = reference.paths[r][elsewhere[i].size() - 1][static_cast<size_t>(draw)];
      expect(elsewhere[i].size() > 1 && (!last || last->ended), what, ": request ", r, " has fewer steps");
    }
    ++reference.coverage["starts whose draws ended early"];
  }
  ++reference.coverage["runs " + what];
}

// One step of the stateless form for all draws of a session, at any level.
struct StatelessRows {
  std::vector<RawRow> rows;
  std::vector<sidbeam_state> states;
  std::vector<int64_t> seeds, requests, draws;
  std::vector<int32_t> top_ks, codes;
  std::vector<float> top_ps, temperatures, scores, masses, log_probs, log_masses;
  std::vector<sidbeam_state> next;
  std::vector<std::array<size_t, 3>> places;  // request, step, draw

  void add(const Reference& reference, size_t r, size_t k, size_t m) {
    const Request& request = reference.requests[r];
    const size_t parent = k == 1 ? 0 : m;
    const oracle::Beam& from = *reference.paths[r][k - 1][parent];
    rows.push_back(reference.model.row(from.prefix));
    states.push_back(reference.after[r][k - 1].states[parent]);
    scores.push_back(reference.after[r][k - 1].scores[parent]);
    masses.push_back(reference.after[r][k - 1].log_masses[parent]);
    seeds.push_back(request.seed);
    requests.push_back(request.request);
    draws.push_back(request.first_draw + static_cast<int64_t>(m));
    top_ks.push_back(request.top_k);
    top_ps.push_back(request.top_p);
    temperatures.push_back(request.settings.inverse_temperature);
    places.push_back({r, k, m});
  }
};

void call_sample(const Way& way, const World& world, const Loaded& loaded, StatelessRows& rows) {
  const Place& place = *way.place;
  const Vocabulary vocabulary(world);
  const ConstraintSet set = make_set(way.runtime.get(), place, {loaded.constraint.get()}, &vocabulary.view);
  const size_t n = rows.states.size();
  const Feed feed = plain_feed(world, rows.rows, static_cast<int64_t>(n), world.c.misalign);
  const Delivery there(place, feed);
  sidbeam_rows view = there.rows;
  view.slots = 0;
  view.rows = static_cast<int64_t>(n);
  const Array<sidbeam_state> states(place, rows.states);
  const Array<int64_t> seeds(place, rows.seeds), requests(place, rows.requests), draws(place, rows.draws);
  const Array<int32_t> top_ks(place, rows.top_ks);
  const Array<float> top_ps(place, rows.top_ps), temperatures(place, rows.temperatures);
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = seeds.data();
  sampling.requests = requests.data();
  sampling.draws = draws.data();
  sampling.top_ks = top_ks.data();
  sampling.top_ps = top_ps.data();
  Array<int32_t> codes(place, n, -9);
  Array<float> log_probs(place, n, -9.0F), log_masses(place, n, -9.0F);
  Array<sidbeam_state> next(place, n, -9);
  sidbeam_sampled out = SIDBEAM_SAMPLED_INIT;
  out.codes = codes.data();
  out.log_probs = log_probs.data();
  out.log_masses = log_masses.data();
  out.next = next.data();
  const sidbeam_rows* given = &view;
  const sidbeam_sampling* how = &sampling;
  const sidbeam_sampled* to = &out;
  call("sidbeam_constraint_set_sample", sidbeam_constraint_set_sample, set.get(), nullptr, states.data(), given,
       static_cast<int32_t>(world.c.normalization), temperatures.data(), how, to, place.stream());
  rows.codes = codes.fetch();
  rows.log_probs = log_probs.fetch();
  rows.log_masses = log_masses.fetch();
  rows.next = next.fetch();
}

void check_stateless_draw(const Reference& reference, const StatelessRows& rows, size_t i) {
  const auto [r, k, m] = rows.places[i];
  const Snapshot& after = reference.after[r][k];
  const bool bad = (reference.errors[r][k][m] & SIDBEAM_SLOT_BAD_ROW) != 0, dead = after.parents[m] == -1;
  const std::string what =
      "stateless: request " + std::to_string(r) + ", step " + std::to_string(k) + ", draw " + std::to_string(m);
  if (dead && reference.world.c.distribution == 7)
    return;  // a sum beyond the range of f32, of which this knows nothing
  expect(rows.codes[i] == after.codes[m], what, ": code ", rows.codes[i], " and ", after.codes[m]);
  expect(rows.next[i] == after.states[m], what, ": state ", rows.next[i], " and ", after.states[m]);
  if (dead)
    return expect(
        bad && reference.errors[r][k][m] != -1 ? std::isnan(rows.log_probs[i]) : rows.log_probs[i] == -kInfinity, what,
        ": dead, of log-probability ", rows.log_probs[i]);
  expect(same_bits({rows.scores[i] + rows.log_probs[i]}, {after.scores[m]}), what, ": log-probability ",
         rows.log_probs[i], ", score ", rows.scores[i], " before and ", after.scores[m], " after");
  expect(same_bits({rows.masses[i] + rows.log_masses[i]}, {after.log_masses[m]}), what, ": log mass ",
         rows.log_masses[i], ", ", rows.masses[i], " before and ", after.log_masses[m], " after");
}

// The stateless form knows neither a caller's lse nor soft-caps.
void check_stateless_draws(const Reference& reference, const Way& way, const Loaded& loaded) {
  const World& world = reference.world;
  if (world.c.given_lse != 0 || world.rules.strategy == oracle::Strategy::kNone) return;
  StatelessRows rows;
  for (size_t r = 0; r < reference.requests.size(); ++r) {
    if (reference.requests[r].settings.soft_cap != 0) continue;
    for (size_t k = 1; k < reference.after[r].size(); ++k)
      for (size_t m = 0; m < reference.paths[r][k].size(); ++m) {
        const auto& from = reference.paths[r][k - 1][k == 1 ? 0 : m];
        if (from && !from->ended) rows.add(reference, r, k, m);
      }
  }
  if (rows.states.empty()) return;
  call_sample(way, world, loaded, rows);
  for (size_t i = 0; i < rows.states.size(); ++i) check_stateless_draw(reference, rows, i);
  reference.coverage["stateless draws"] += std::ssize(rows.states);
}

int32_t largest_top_k(const std::vector<Request>& requests) {
  int32_t most = 0;
  for (const Request& request : requests) most = std::max(most, request.top_k);
  return most;
}

void check_elsewhere(const Machine& machine, const Reference& reference, const Loaded& loaded) {
  const World& world = reference.world;
  const int strategy = static_cast<int>(world.c.strategy);
  const auto arranged = [&](const Way& way, const Loaded& where, int how, uint64_t hash) {
    const size_t most = 1 + mix(hash, 1) % static_cast<uint64_t>(world.c.beams);
    const auto slots = static_cast<int64_t>(1 + mix(hash, 2) % 6);
    const int64_t beams = static_cast<int64_t>(most) + static_cast<int64_t>(mix(hash, 3) % 3);
    return Arrangement{way,
                       where,
                       how,
                       largest_top_k(reference.requests) + static_cast<int64_t>(mix(hash, 4) % 3),
                       slots,
                       std::min<int64_t>(beams, SIDBEAM_MAX_BEAMS),
                       split_chunks(world, reference.requests, most, hash),
                       hash};
  };
  uint64_t hash = mix(world.seed(), kDrawSampling, 1000);
  for (const Way& way : machine.ways) {
    check_same(reference, arranged(way, loaded, strategy, ++hash), true, "on " + way.name);
    check_stateless_draws(reference, way, loaded);
  }
  if (strategy == SIDBEAM_STRATEGY_NONE) return;
  const Way& way = machine.for_seed(world.seed());
  const Loaded other = load_other_trie(machine, world);
  check_same(reference, arranged(way, other, strategy, ++hash), false, "with the other form of the trie");
  // Columns take no rules, but an index of what they allow, if that is anything.
  if (world.catalogues[0].sids.empty()) return;
  const Loaded allowed = world.parts.empty() ? Loaded() : load_allowed(machine.best().runtime.get(), world, 0);
  const Loaded& columns = world.parts.empty() ? loaded : allowed;
  check_same(reference, arranged(way, columns, SIDBEAM_STRATEGY_SORTED, ++hash), false, "with sorted");
  if ((world.c.truncation & 1) != 0)
    check_same(reference, arranged(way, columns, SIDBEAM_STRATEGY_SORTED_TOPK, ++hash), false, "with sorted_topk");
}

void check_draws(const Machine& machine, const World& world, const std::vector<Loaded>& loaded, Coverage* coverage) {
  const Model model(world);
  const std::vector<Request> requests = draw_requests(world);
  Reference reference{world, model, requests, whole_chunks(world, requests), {}, {}, {}, *coverage};
  reference.after = run(world, model, requests,
                        {machine.best(), loaded[0], static_cast<int>(world.c.strategy), world.c.top_k, world.c.slots,
                         world.c.beams, reference.chunks, mix(world.seed(), kDrawSampling)});
  for (size_t r = 0; r < requests.size(); ++r) {
    reference.paths.push_back(paths_of(world.catalogues[0], requests[r].prefix, reference.after[r]));
    try {
      check_request(reference, r);
    } catch (const Mismatch& error) {
      mismatch("request ", r, ": ", error.what());
    }
  }
  check_elsewhere(machine, reference, loaded[0]);
}

}  // namespace

void check_sampling(const Machine& machine, const Case& c, Coverage* coverage) {
  const World world = make_world(c);
  std::vector<Loaded> loaded;
  loaded.push_back(load(machine.best().runtime.get(), world, 0));
  if (c.mode == SIDBEAM_MODE_SAMPLE) return check_draws(machine, world, loaded, coverage);
  if (c.mode == SIDBEAM_MODE_STOCHASTIC) check_stochastic(machine, world, loaded, coverage);
}

}  // namespace differential
