// Writes the file of shared cases, which every language's tests read: small cases of the differential test, call by
// call, with C's results, which the oracle has confirmed.
//
//   make_cases FILE
//
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <fstream>
#include <iostream>

#include "checks.h"
#include "draws.h"
#include "recorder.h"
#include "refusals.h"

namespace shared_cases {
namespace {

using differential::call;
using differential::Case;
using differential::Coverage;
using differential::expect;
using differential::Loaded;
using differential::Machine;
using differential::World;

constexpr uint64_t kCases = 80;
constexpr uint64_t kFirstSeed = 2026;
constexpr uint64_t kRareSeed = 2205;  // bad rows that cannot matter, which one case in hundreds has

const differential::Place kHere;

Machine make_machine() {
  Machine machine;
  machine.ways.push_back({"this machine's best", differential::make_runtime(nullptr), &kHere});
  machine.ways.push_back({"cpu target baseline", differential::make_runtime("baseline"), &kHere});
  machine.ways.push_back({"two threads", differential::make_runtime(nullptr, 2), &kHere});
  return machine;
}

// A case of the differential test, made small; strategies, normalisations and dtypes come in turn.
Case small_case(uint64_t seed) {
  Case c = differential::draw_case(seed);
  c.rules = c.live = 0;  // the format has neither; see test_flat_rules.c, and each language's own tests
  c.attributes = 0;
  const auto at_most = [](int64_t* value, int64_t most) { *value = std::min(*value, most); };
  at_most(&c.levels, 5);
  at_most(&c.codes, 24);
  at_most(&c.sids, 40);
  at_most(&c.beams, 9);
  at_most(&c.top_k, 9);
  at_most(&c.slots, 4);
  at_most(&c.extra, 6);
  at_most(&c.operations, c.levels + 4);
  const auto turn = static_cast<int64_t>(seed - kFirstSeed);
  constexpr int64_t kLayouts[] = {0, 1, 4, 5, 6, 6, 1};  // without negative strides, which some languages lack
  c.strategy = turn % 5;
  c.normalization = turn / 5 % 4;
  c.dtype = turn % 3;
  c.layout = kLayouts[turn % 7];
  c.stateless = turn % 4 == 0 ? 1 : 0;
  if (c.stateless != 0) c.lean = 0;
  return differential::repaired(c);
}

// The ids of a case: as drawn, above the range of int64, or names; all three in the same order.
int32_t id_type(const Case& c) { return c.ids == 0 ? SIDBEAM_ID_I64 : static_cast<int32_t>(c.seed / 3 % 3); }
int64_t id_as_given(int32_t type, int64_t id) { return type == SIDBEAM_ID_U64 ? (id + 4) ^ INT64_MIN : id; }
std::string name_of(int64_t id) {
  char name[40];
  std::snprintf(name, sizeof name, "it\xc3\xa9m / %06lld", static_cast<long long>(id + 10));
  return name;
}

// The lines of a catalogue as the builder takes them.
struct Lines {
  std::vector<int32_t> codes, lengths;
  std::vector<int64_t> ids, priorities, offsets{0};
  std::vector<std::string> names;
  std::string bytes;
};

Lines lines_of(const World& world, size_t which) {
  const size_t levels = world.catalogues[which].codes.size();
  Lines lines;
  for (const oracle::Pair& pair : world.pairs[which]) {
    oracle::Sid sid = pair.sid;
    sid.resize(levels, -7);  // not read
    lines.codes.insert(lines.codes.end(), sid.begin(), sid.end());
    lines.lengths.push_back(static_cast<int32_t>(pair.sid.size()));
    lines.ids.push_back(id_as_given(id_type(world.c), pair.id));
    lines.priorities.push_back(pair.priority);
    lines.names.push_back(name_of(pair.id));
    lines.bytes += lines.names.back();
    lines.offsets.push_back(static_cast<int64_t>(lines.bytes.size()));
  }
  return lines;
}

int32_t kinds_of(const Case& c) {
  const int32_t trie = c.compact != 0 ? SIDBEAM_KIND_COMPACT_TRIE : SIDBEAM_KIND_TRIE;
  return trie | SIDBEAM_KIND_SORTED | (c.variable != 0 ? 0 : SIDBEAM_KIND_HASH);
}

void add(sidbeam_builder* builder, const World& world, const Lines& lines) {
  const auto count = static_cast<int64_t>(lines.ids.size());
  const int32_t* lengths = world.c.variable != 0 ? lines.lengths.data() : nullptr;
  const int64_t* priorities = world.c.priorities != 0 ? lines.priorities.data() : nullptr;
  if (id_type(world.c) == SIDBEAM_ID_STRING) {
    call("sidbeam_builder_add_named", sidbeam_builder_add_named, builder, lines.codes.data(), lengths, count,
         lines.bytes.data(), lines.offsets.data(), priorities);
  } else {
    call("sidbeam_builder_add", sidbeam_builder_add, builder, lines.codes.data(), lengths, count,
         world.c.ids != 0 ? lines.ids.data() : nullptr, priorities);
  }
}

Loaded load(sidbeam_runtime* runtime, const World& world, size_t which, const Lines& lines) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = world.catalogues[which].levels();
  config.codes = world.catalogues[which].codes.data();
  config.variable_length = static_cast<int32_t>(world.c.variable);
  config.id_type = id_type(world.c);
  config.kinds = kinds_of(world.c);
  sidbeam_builder* made = nullptr;
  call("sidbeam_builder_create", sidbeam_builder_create, runtime, &config, &made);
  const handles::Builder builder(made);
  add(builder.get(), world, lines);
  return differential::finished(builder.get());
}

// The index's item rows, which must be the oracle's.
struct ItemRows {
  std::vector<int64_t> ids, ordinals;
  std::vector<std::string> names;
};

ItemRows item_rows(const World& world, size_t which, const sidbeam_index* index) {
  const oracle::Catalogue& catalogue = world.catalogues[which];
  const int32_t type = id_type(world.c);
  ItemRows found;
  for (size_t ordinal = 0; ordinal < catalogue.items.size(); ++ordinal) {
    for (const int64_t expected : catalogue.items[ordinal]) {
      const auto item_row = static_cast<int64_t>(found.ids.size());
      int64_t id = -1, bytes = 0, of = -1;
      const char* name = nullptr;
      call("sidbeam_index_item_id", sidbeam_index_item_id, index, item_row, &id, &name, &bytes);
      call("sidbeam_index_item_ordinal", sidbeam_index_item_ordinal, index, item_row, &of);
      found.ids.push_back(id);
      found.names.push_back(name == nullptr ? "" : std::string(name, static_cast<size_t>(bytes)));
      found.ordinals.push_back(of);
      expect(of == static_cast<int64_t>(ordinal), "ordinal of item row ", item_row, " is ", of, ", expected ", ordinal);
      const bool right =
          type == SIDBEAM_ID_STRING ? found.names.back() == name_of(expected) : id == id_as_given(type, expected);
      expect(right, "id of item row ", item_row, " is ", id, " '", found.names.back(), "', expected that of ",
             expected);
    }
  }
  return found;
}

void write_info(Writer& out, const World& world, size_t which, const sidbeam_index* index, size_t items) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call("sidbeam_index_get_info", sidbeam_index_get_info, index, &info);
  expect(info.sids == static_cast<int64_t>(world.catalogues[which].sids.size()), "sids is ", info.sids);
  expect(info.items == static_cast<int64_t>(items), "items is ", info.items, ", expected ", items);
  out.field("want_levels", info.levels);
  out.field("want_shortest", info.shortest);
  out.field("want_longest", info.longest);
  out.field("want_kinds", info.kinds);
  out.field("want_sids", info.sids);
  out.field("want_items", info.items);
  out.field("want_merged_pairs", info.merged_pairs);
  out.field("want_collisions", info.collisions);
  out.field("want_max_items_per_sid", info.max_items_per_sid);
}

void write_index(Writer& out, const World& world, size_t which, const Lines& lines, const sidbeam_index* index) {
  const std::vector<int>& codes = world.catalogues[which].codes;
  const auto count = static_cast<int64_t>(lines.ids.size());
  const bool named = id_type(world.c) == SIDBEAM_ID_STRING;
  out.record("index");
  out.field("codes", codes.data(), static_cast<int64_t>(codes.size()));
  out.field("variable_length", static_cast<int32_t>(world.c.variable));
  out.field("id_type", id_type(world.c));
  out.field("kinds", kinds_of(world.c));
  out.field("collisions", static_cast<int32_t>(SIDBEAM_COLLISIONS_KEEP));
  out.field("sids", lines.codes.data(), static_cast<int64_t>(lines.codes.size()));
  if (world.c.variable != 0) out.field("lengths", lines.lengths.data(), count);
  if (named) out.field("names", lines.names);
  if (!named && world.c.ids != 0) out.field("ids", lines.ids.data(), count);
  if (world.c.priorities != 0) out.field("priorities", lines.priorities.data(), count);
  const ItemRows rows = item_rows(world, which, index);
  const auto items = static_cast<int64_t>(rows.ids.size());
  write_info(out, world, which, index, rows.ids.size());
  if (named) {
    out.field("want_names", rows.names);
  } else {
    out.field("want_ids", rows.ids.data(), items);
  }
  out.field("want_ordinals", rows.ordinals.data(), items);
}

// 1 if a case also draws: some of each strategy that may, so that the file stays small.
int64_t draws(const Case& c) { return c.seed % 3 == 0 && c.strategy <= SIDBEAM_STRATEGY_SORTED ? 1 : 0; }

void count_case(const World& world, Coverage* coverage) {
  const Case& c = world.c;
  ++(*coverage)["strategy " + std::to_string(c.strategy) + ", normalization " + std::to_string(c.normalization)];
  ++(*coverage)["ids of type " + std::to_string(id_type(c))];
  ++(*coverage)["dtype " + std::to_string(c.dtype)];
  ++(*coverage)["layout " + std::to_string(c.layout)];
  for (const auto& [name, given] : {std::pair{"given lse", c.given_lse},
                                    {"soft-cap", c.soft_cap},
                                    {"temperature", c.temperature},
                                    {"vocabulary offsets", c.offsets},
                                    {"vocabulary maps", c.maps},
                                    {"widths", c.widths},
                                    {"widths per level", c.widths > 1 ? 1 : 0},
                                    {"variable length", c.variable},
                                    {"stateless forms", c.stateless},
                                    {"draws", draws(c)}}) {
    if (given != 0) ++(*coverage)[name];
  }
  for (const oracle::Catalogue& catalogue : world.catalogues) {
    if (catalogue.sids.size() < static_cast<size_t>(c.beams)) ++(*coverage)["more beams than SIDs"];
  }
}

void write_case(Writer& out, const Machine& machine, const Case& c, Coverage* coverage) {
  differential::check_case(machine, c, coverage);  // all the checks there are
  const World world = differential::make_world(c);
  out.record("case");
  out.field("line", differential::to_line(c));
  std::vector<Loaded> loaded;
  std::vector<const sidbeam_constraint*> constraints;
  for (size_t k = 0; k < world.catalogues.size(); ++k) {
    const Lines lines = lines_of(world, k);
    loaded.push_back(load(machine.best().runtime.get(), world, k, lines));
    write_index(out, world, k, lines, loaded.back().index.get());
    constraints.push_back(loaded.back().constraint.get());
  }
  {
    const Recording recording(out, constraints, Recorded::kSessions);
    differential::check_session(machine, world, loaded, coverage);
    if (c.seed % 10 == 0) make_refusals(machine, world, loaded);
    if (draws(c) != 0) make_draws(machine, world, loaded, coverage);
  }
  if (c.stateless != 0) {
    const Recording recording(out, constraints, Recorded::kSets);
    differential::check_stateless(machine.for_seed(world.seed()), world, loaded, coverage);
    if (c.seed % 3 == 0) make_samples(machine, world, loaded);
  }
  count_case(world, coverage);
}

// What at least one case must have.
constexpr const char* kFeatures[] = {"given lse",
                                     "soft-cap",
                                     "temperature",
                                     "vocabulary offsets",
                                     "vocabulary maps",
                                     "widths",
                                     "widths per level",
                                     "item lists without items of better beams",
                                     "variable length",
                                     "stateless forms",
                                     "more beams than SIDs",
                                     "dtype 0",
                                     "dtype 1",
                                     "dtype 2",
                                     "layout 0",
                                     "layout 1",
                                     "layout 4",
                                     "layout 5",
                                     "layout 6",
                                     "ids of type 0",
                                     "ids of type 1",
                                     "ids of type 2",
                                     "steps that leave nothing",
                                     "steps with fewer candidates than the width",
                                     "bad rows that are errors",
                                     "bad normalisers of the caller's that are errors",
                                     "bad rows that cannot matter",
                                     "ended beams that compete",
                                     "starts at a prefix",
                                     "starts at a prefix that no SID has",
                                     "stops in the middle",
                                     "starts of all slots, unlisted",
                                     "steps that follow what a slot was started with",
                                     "steps whose temperature comes before the slot's",
                                     "steps whose soft-cap comes before the slot's",
                                     "steps of slots at different levels",
                                     "steps of slots with different constraints",
                                     "beams with several items",
                                     "item lists cut by a limit",
                                     "item lists sized without a limit",
                                     "states advanced",
                                     "states ended",
                                     "rows of topk",
                                     "draws",
                                     "results accepted",
                                     "results resampled",
                                     "dead results"};

// The name of a feature that no case has, "" if all are there.
std::string missing(const Coverage& coverage) {
  for (const char* name : kFeatures) {
    if (coverage.find(name) == coverage.end()) return name;
  }
  for (int strategy = 0; strategy < 5; ++strategy) {
    for (int normalization = 0; normalization < 4; ++normalization) {
      if (strategy > 2 && normalization == SIDBEAM_NORMALIZE_VALID) continue;  // refused
      std::string name = "strategy " + std::to_string(strategy) + ", normalization " + std::to_string(normalization);
      if (coverage.find(name) == coverage.end()) return name;
    }
  }
  return "";
}

int run(const char* path) {
  std::ofstream file(path);
  Writer out(file);
  out.comment("The shared cases of sidbeam, made by tests/bindings/make_cases.cc; the format is in");
  out.comment("tests/bindings/README.md: `name type count v v ...`, floats as their bits, strings percent-encoded.");
  const Machine machine = make_machine();
  Coverage coverage;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + kCases; ++seed)
    write_case(out, machine, small_case(seed), &coverage);
  write_case(out, machine, small_case(kRareSeed), &coverage);
  file.close();
  if (!file) throw std::runtime_error(std::string(path) + " could not be written");
  const std::string none = missing(coverage);
  if (!none.empty()) throw std::runtime_error("no case has: " + none);
  return 0;
}

}  // namespace
}  // namespace shared_cases

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::invalid_argument("expected the name of the file to write");
    return shared_cases::run(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << "make_cases: " << error.what() << '\n';
    return 1;
  }
}
