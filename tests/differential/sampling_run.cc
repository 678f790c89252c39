// Running draws: slots that start and step as their hash says.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "sampling.h"

namespace differential {
namespace {

using Beams = std::vector<std::optional<oracle::Beam>>;

uint64_t hash_of(const oracle::Sid& prefix) {
  uint64_t hash = prefix.size();
  for (const int code : prefix) hash = mix(hash, static_cast<uint64_t>(code));
  return hash;
}

template <class T>
void shuffle(std::vector<T>& all, uint64_t hash) {
  for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[mix(hash, i) % i]);
}

struct Slot {
  bool running = false;
  size_t chunk = 0;
  Beams beams;
};

struct Run {
  const World& world;  // with the arrangement's strategy and shape
  const Model& model;
  const std::vector<Request>& requests;
  const Arrangement& at;
  const oracle::Catalogue& catalogue;
  Session session;
  std::vector<Slot> slots;
  size_t next = 0;  // chunk to start
  uint64_t calls = 0;
  Chunks after;

  const Request& request(int32_t slot) const {
    return requests[at.chunks[slots[static_cast<size_t>(slot)].chunk].request];
  }
  bool start_sets() const { return at.hash % 2 == 0; }  // temperature and soft-cap, else each step does
  uint64_t draw(uint64_t what) const { return mix(at.hash, what, calls); }
};

bool must_be_fed(const Run& run, const std::optional<oracle::Beam>& beam) {
  return beam && !beam->ended && static_cast<int>(beam->prefix.size()) < run.catalogue.levels();
}

bool is_active(const Run& run, const Slot& slot) {
  return slot.running &&
         std::any_of(slot.beams.begin(), slot.beams.end(), [&](const auto& beam) { return must_be_fed(run, beam); });
}

// About half of those that `wanted` accepts, in any order, and at least one if there is one.
template <class Predicate>
std::vector<int32_t> some_slots(const Run& run, uint64_t what, Predicate wanted) {
  std::vector<int32_t> some;
  for (size_t s = 0; s < run.slots.size(); ++s)
    if (wanted(run.slots[s])) some.push_back(static_cast<int32_t>(s));
  shuffle(some, run.draw(what));
  if (some.size() > 1) some.resize(1 + run.draw(what + 1) % some.size());
  return some;
}

// The arrays of a start.
struct Starts {
  std::vector<int32_t> widths, prefixes, lengths, top_ks;
  std::vector<int64_t> seeds, requests, draws;
  std::vector<float> top_ps, noise, inverse_temperatures, soft_caps;
  int64_t stride = 0;
  bool default_draws = true;  // 0 .. width - 1

  void add(const Run& run, const Chunk& chunk) {
    const Request& request = run.requests[chunk.request];
    const auto levels = static_cast<size_t>(run.world.c.levels);
    widths.push_back(static_cast<int32_t>(chunk.draws.size()));
    prefixes.resize(widths.size() * levels, -7);
    std::copy(request.prefix.begin(), request.prefix.end(), prefixes.end() - static_cast<std::ptrdiff_t>(levels));
    lengths.push_back(static_cast<int32_t>(request.prefix.size()));
    seeds.push_back(request.seed);
    requests.push_back(request.request);
    draws.resize(widths.size() * static_cast<size_t>(stride), -7);  // numbers beyond the width are not read
    for (size_t m = 0; m < chunk.draws.size(); ++m) {
      const int64_t number = request.first_draw + chunk.draws[m];
      draws[(widths.size() - 1) * static_cast<size_t>(stride) + m] = number;
      default_draws = default_draws && number == static_cast<int64_t>(m);
    }
    top_ks.push_back(request.top_k);
    top_ps.push_back(request.top_p);
    noise.push_back(request.noise);
    inverse_temperatures.push_back(request.settings.inverse_temperature);
    soft_caps.push_back(request.settings.soft_cap);
  }
};

sidbeam_sampling sampling_of(const Run& run, const Starts& starts) {
  sidbeam_sampling sampling = SIDBEAM_SAMPLING_INIT;
  sampling.seeds = starts.seeds.data();
  sampling.requests = starts.requests.data();
  if (run.world.c.mode == SIDBEAM_MODE_STOCHASTIC) {
    sampling.noise_scales = starts.noise.data();
    return sampling;
  }
  if (!starts.default_draws || run.draw(1) % 2 == 0) {
    sampling.draws = starts.draws.data();
    sampling.draw_stride = starts.stride == run.at.beams && run.draw(2) % 2 == 0 ? 0 : starts.stride;
  }
  if ((run.world.c.truncation & 1) != 0) sampling.top_ks = starts.top_ks.data();
  if ((run.world.c.truncation & 2) != 0) sampling.top_ps = starts.top_ps.data();
  return sampling;
}

// Gives the next chunks to some of the slots that are free.
void start(Run& run) {
  std::vector<int32_t> slots = some_slots(run, 10, [&](const Slot& slot) { return !is_active(run, slot); });
  slots.resize(std::min(slots.size(), run.at.chunks.size() - run.next));
  Starts starts;
  starts.stride = run.at.beams + static_cast<int64_t>(run.draw(3) % 3);
  for (size_t i = 0; i < slots.size(); ++i) {
    Slot& slot = run.slots[static_cast<size_t>(slots[i])];
    slot = {true, run.next++, Beams(static_cast<size_t>(run.at.beams))};
    starts.add(run, run.at.chunks[slot.chunk]);
  }
  const sidbeam_sampling sampling = sampling_of(run, starts);
  const SlotList list(slots, run.slots.size(), run.draw(4));
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.slots = list.slots;
  args.count = list.count;
  args.widths = starts.widths.data();
  args.prefixes = starts.prefixes.data();
  args.prefix_lengths = starts.lengths.data();
  args.prefix_stride = run.world.c.levels;
  if (run.start_sets()) {
    args.inverse_temperatures = starts.inverse_temperatures.data();
    args.soft_caps = starts.soft_caps.data();
  }
  args.stream = run.at.way.place->stream();
  if (run.world.c.mode != SIDBEAM_MODE_SEARCH) args.sampling = &sampling;
  call("sidbeam_session_start", sidbeam_session_start, run.session.get(), &args);
  const sidbeam_beams beams = beams_of(*run.at.way.place, run.session.get());
  for (const int32_t s : slots) {
    Slot& slot = run.slots[static_cast<size_t>(s)];
    const Snapshot now = snapshot(beams, static_cast<size_t>(s));
    if (now.live > 0) slot.beams[0] = oracle::Beam{run.request(s).prefix, false, 0};
    run.after[slot.chunk].push_back(now);
  }
}

void call_step(Run& run, const std::vector<int32_t>& slots, const Feed& feed) {
  const Place& place = *run.at.way.place;
  const Delivery there(place, feed);
  std::vector<float> temperatures, soft_caps;
  for (const int32_t s : slots) {
    temperatures.push_back(run.request(s).settings.inverse_temperature);
    soft_caps.push_back(run.request(s).settings.soft_cap);
  }
  const Array<int32_t> list(place, slots);
  const Array<float> temperatures_there(place, temperatures), soft_caps_there(place, soft_caps);
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.slots = list.data();
  args.count = static_cast<int64_t>(slots.size());
  args.rows = &there.rows;
  args.row_map = there.row_map.data();
  args.lse = there.lse.data();
  if (!run.start_sets()) {
    args.inverse_temperatures = temperatures_there.data();
    args.soft_caps = soft_caps_there.data();
  }
  args.stream = place.stream();
  place.step(run.session.get(), &args);
}

void step(Run& run) {
  const std::vector<int32_t> slots = some_slots(run, 20, [&](const Slot& slot) { return is_active(run, slot); });
  std::vector<std::vector<const RawRow*>> rows;
  for (const int32_t s : slots) {
    rows.emplace_back();
    for (const auto& beam : run.slots[static_cast<size_t>(s)].beams)
      rows.back().push_back(must_be_fed(run, beam) ? &run.model.row(beam->prefix) : nullptr);
  }
  const Feed feed = feed_of(run.world, run.draw(5), rows);
  call_step(run, slots, feed);
  const sidbeam_beams beams = beams_of(*run.at.way.place, run.session.get());
  for (const int32_t s : slots) {
    Slot& slot = run.slots[static_cast<size_t>(s)];
    const Snapshot now = snapshot(beams, static_cast<size_t>(s));
    slot.beams = continued(run.catalogue, slot.beams, now);
    expect(is_active(run, slot) == (now.active > 0), "slot ", s, ": active is ", now.active);
    run.after[slot.chunk].push_back(now);
  }
}

}  // namespace

std::vector<Request> draw_requests(const World& world) {
  const Case& c = world.c;
  const oracle::Catalogue& catalogue = world.wholes[0];
  std::vector<Request> requests;
  for (int64_t r = 0; r < c.slots; ++r) {
    const auto draw = [&](uint64_t what) { return mix(world.seed(), kDrawSampling, r, what); };
    Request request;
    request.seed = static_cast<int64_t>(draw(1) % 3 == 0 ? draw(2) : draw(2) % 2);  // equal ones too
    request.request = static_cast<int64_t>(draw(3) % 3 == 0 ? draw(4) : draw(4) % 5);
    constexpr int64_t kFirst[] = {0, 0, int64_t{1} << 32, (int64_t{1} << 52) - SIDBEAM_MAX_BEAMS};
    request.first_draw = kFirst[draw(5) % 4];
    if (c.prefixes != 0) {
      request.prefix = catalogue.sids[draw(6) % catalogue.sids.size()];
      request.prefix.resize(draw(7) % (request.prefix.size() + 1));
      if (c.prefixes == 2 && !request.prefix.empty() && draw(8) % 3 == 0) {  // perhaps one that no SID has
        const size_t l = request.prefix.size() - 1;
        request.prefix[l] = static_cast<int>(draw(9) % static_cast<uint64_t>(catalogue.codes[l]));
      }
    }
    request.settings = draw_settings(c, draw(10), false);
    constexpr int32_t kTopKs[] = {1, 2, 3, 5, 10, 40, 1000};
    if ((c.truncation & 1) != 0) request.top_k = kTopKs[draw(11) % std::size(kTopKs)];
    constexpr float kTopPs[] = {0.9F, 0.5F, 0.99F, 0.1F, 1e-30F, 0.75F, 1.0F};
    if ((c.truncation & 2) != 0) request.top_p = kTopPs[draw(12) % std::size(kTopPs)];
    constexpr float kNoise[] = {1, 0, 0.5F, 3, 1};
    request.noise = kNoise[draw(13) % std::size(kNoise)];
    requests.push_back(request);
  }
  return requests;
}

Model::Model(const World& world)
    : world_(world), columns_(world.columns + static_cast<int64_t>(mix(world.seed(), kDrawLayout) % 3)) {}

// Layouts 4 and 5 repeat rows: there all are the same.
const RawRow& Model::row(const oracle::Sid& prefix) const {
  const bool repeats = world_.c.layout == 4 || world_.c.layout == 5;
  RawRow& row = rows_[repeats ? oracle::Sid() : prefix];
  if (row.elements.empty()) row = make_row(world_, {0, 0, repeats ? 0 : hash_of(prefix)}, columns_);
  return row;
}

std::vector<Chunk> whole_chunks(const World& world, const std::vector<Request>& requests) {
  std::vector<Chunk> chunks;
  for (size_t r = 0; r < requests.size(); ++r) {
    chunks.push_back({r, std::vector<int64_t>(static_cast<size_t>(world.c.beams))});
    std::iota(chunks.back().draws.begin(), chunks.back().draws.end(), 0);
  }
  return chunks;
}

std::vector<Chunk> split_chunks(const World& world, const std::vector<Request>& requests, size_t most, uint64_t hash) {
  std::vector<Chunk> chunks;
  for (const Chunk& whole : whole_chunks(world, requests)) {
    std::vector<int64_t> draws = whole.draws;
    shuffle(draws, mix(hash, whole.request));
    for (size_t at = 0; at < draws.size();) {
      const size_t count = std::min(draws.size() - at, 1 + mix(hash, whole.request, at) % most);
      const auto from = draws.begin() + static_cast<std::ptrdiff_t>(at);
      chunks.push_back({whole.request, std::vector<int64_t>(from, from + static_cast<std::ptrdiff_t>(count))});
      at += count;
    }
  }
  shuffle(chunks, hash);
  return chunks;
}

std::vector<std::optional<oracle::Beam>> continued(const oracle::Catalogue& catalogue,
                                                   const std::vector<std::optional<oracle::Beam>>& beams,
                                                   const Snapshot& now) {
  std::vector<std::optional<oracle::Beam>> next(beams.size());
  for (size_t m = 0; m < beams.size(); ++m) {
    const int32_t parent = now.parents[m];
    if (parent == -1) continue;
    expect(parent >= 0 && parent < static_cast<int32_t>(beams.size()) && beams[static_cast<size_t>(parent)], "beam ", m,
           ": parent ", parent, " is not live");
    const oracle::Beam& before = *beams[static_cast<size_t>(parent)];
    const int code = now.codes[m];
    const bool in_range =
        before.ended ? code == -1
                     : code >= 0 && code < catalogue.codes[before.prefix.size()] + (catalogue.variable ? 1 : 0);
    expect(in_range, "beam ", m, ": code ", code, " after ", text(before.prefix));
    oracle::Beam after = before;
    after.score = now.scores[m];
    if (code >= 0 && code == catalogue.codes[before.prefix.size()]) after.ended = true;
    if (code >= 0 && !after.ended) after.prefix.push_back(code);
    next[m] = after;
  }
  return next;
}

Paths paths_of(const oracle::Catalogue& catalogue, const oracle::Sid& prefix, const std::vector<Snapshot>& after) {
  Paths paths{Beams(after[0].codes.size())};
  if (after[0].live > 0) paths[0][0] = oracle::Beam{prefix, false, 0};
  for (size_t k = 1; k < after.size(); ++k) paths.push_back(continued(catalogue, paths.back(), after[k]));
  return paths;
}

Chunks run(const World& world, const Model& model, const std::vector<Request>& requests, const Arrangement& at) {
  World own = world;
  own.c.beams = at.beams;
  own.c.top_k = at.top_k;
  Run run{own,
          model,
          requests,
          at,
          world.catalogues[0],
          make_session(at.way.runtime.get(), *at.way.place, at.loaded.constraint.get(), own, at.strategy,
                       static_cast<int>(at.slots)),
          std::vector<Slot>(static_cast<size_t>(at.slots)),
          0,
          0,
          Chunks(at.chunks.size())};
  at.way.place->prepare(at.loaded.index.get());
  for (;; ++run.calls) {
    const auto active =
        std::count_if(run.slots.begin(), run.slots.end(), [&](const Slot& slot) { return is_active(run, slot); });
    const bool may_start = run.next < run.at.chunks.size() && active < std::ssize(run.slots);
    if (!may_start && active == 0) return std::move(run.after);
    if (may_start && (active == 0 || run.draw(6) % 2 == 0)) {
      start(run);
    } else {
      step(run);
    }
  }
}

Loaded load_other_trie(const Machine& machine, const World& world) {
  World other = world;
  other.c.compact = 1 - other.c.compact;
  return load(machine.best().runtime.get(), other, 0);
}

}  // namespace differential
