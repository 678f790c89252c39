// Table rules: what filters and a request's own lists cost before a search begins: deriving a filter, changing one,
// making constraints. On one thread, by its processor time.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "index_tables.h"

namespace bench {
namespace {

struct RulesCase {
  Runtime runtime;
  Index index;
  int64_t items = 0;
  Case where;
  int runs = 0;
  Measurements* out = nullptr;

  void report(const char* what, const char* unit, const std::vector<double>& values) const {
    out->push_back({"rules", where, what, unit, summarise(values), ""});
  }
  // Processor time of `work`, in turns that `prepare` precedes, in units of `unit` seconds.
  template <class Prepare, class Work>
  void measure(const char* what, const char* unit, double scale, const Prepare& prepare, const Work& work) const {
    std::vector<double> values;
    for (int run = 0; run < runs; ++run) {
      prepare();
      const double begin = processor_seconds();
      work();
      values.push_back((processor_seconds() - begin) * scale);
    }
    report(what, unit, values);
  }
};

// Distinct rows, at random places or next to each other.
std::vector<int64_t> draw_items(int64_t items, int64_t count, bool clustered, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> rows;
  int64_t next = 0;
  while (static_cast<int64_t>(rows.size()) < count) {
    if (!clustered || rows.size() % 100 == 0) next = static_cast<int64_t>(random() % static_cast<uint64_t>(items));
    rows.push_back(next);
    next = (next + 1) % items;
  }
  return rows;
}

Filter half_filter(const RulesCase& c, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> rows;
  for (int64_t row = 0; row < c.items; ++row)
    if (random() % 2 == 0) rows.push_back(row);
  return filter_of(c.index.get(), rows);
}

void measure_filters(const RulesCase& c) {
  Filter filter;
  const double per_sid = 1e9 / static_cast<double>(c.items);
  c.measure(
      "derive", "ns/SID", per_sid, [&] { filter = half_filter(c, 1); },
      [&] { call("filter_prepare", sidbeam_filter_prepare, filter.get()); });
  sidbeam_filter_info info = SIDBEAM_FILTER_INFO_INIT;
  call("filter_get_info", sidbeam_filter_get_info, filter.get(), &info);
  c.report("bytes of a filter", "B/SID", {static_cast<double>(info.bytes) / static_cast<double>(c.items)});
  for (const int64_t count : {int64_t{1}, int64_t{1000}, int64_t{100000}}) {
    if (count > c.items / 10) continue;
    const std::vector<int64_t> rows = draw_items(c.items, count, false, 3);
    const std::vector<uint8_t> allowed(rows.size(), 1);
    const sidbeam_item_list list = list_of(rows);
    Filter updated;
    const auto update = [&] {
      updated = make<Filter>("filter_update", sidbeam_filter_update, filter.get(), &list, allowed.data(), nullptr);
    };
    update();  // makes the index's parents
    const std::string what = "update of " + std::to_string(count);
    c.measure(
        what.c_str(), "us", 1e6, [&] { updated.reset(); }, update);
  }
}

void measure_lists(const RulesCase& c) {
  const Filter filter = half_filter(c, 2);
  struct Way {
    const char* name;
    bool clustered, filtered, allow;
    int32_t by;
  };
  constexpr Way kWays[] = {{"excluded rows", false, false, false, SIDBEAM_ITEMS_BY_ROW},
                           {"excluded ids", false, false, false, SIDBEAM_ITEMS_BY_ID},
                           {"excluded ids, filtered", false, true, false, SIDBEAM_ITEMS_BY_ID},
                           {"excluded ids, clustered", true, false, false, SIDBEAM_ITEMS_BY_ID},
                           {"allowed ids", false, false, true, SIDBEAM_ITEMS_BY_ID}};
  for (const Way& way : kWays) {
    for (const int64_t count : {int64_t{10}, int64_t{100}, int64_t{1000}, int64_t{10000}}) {
      // Of other items in each turn, as of one user after another.
      std::vector<std::vector<int64_t>> users;
      for (int run = 0; run < 16; ++run)
        users.push_back(draw_items(c.items, count, way.clustered, static_cast<uint64_t>(100 + run)));
      size_t user = 0;
      Constraint constraint;
      const auto make_one = [&] {
        const sidbeam_item_list list = list_of(users[user++ % users.size()], way.by);
        constraint = constrain(c.index.get(), way.filtered ? filter.get() : nullptr, way.allow ? nullptr : &list,
                               way.allow ? &list : nullptr);
      };
      for (int run = 0; run < 3; ++run) make_one();
      const std::string what = std::to_string(count) + " " + way.name;
      c.measure(
          what.c_str(), "us", 1e6, [] {}, make_one);
    }
  }
}

void measure_more(const RulesCase& c) {
  const std::vector<int64_t> seen = draw_items(c.items, 10000, false, 5), click = draw_items(c.items, 1, false, 6);
  const sidbeam_item_list list = list_of(seen, SIDBEAM_ITEMS_BY_ID), one = list_of(click, SIDBEAM_ITEMS_BY_ID);
  const Constraint constraint = constrain(c.index.get(), nullptr, &list, nullptr);
  Constraint more;
  c.measure(
      "1 more after 10000", "us", 1e6, [&] { more.reset(); },
      [&] { more = make<Constraint>("constraint_exclude", sidbeam_constraint_exclude, constraint.get(), &one); });
}

struct Shape {
  Skew skew;
  int32_t levels, codes, kinds;
  bool varies;  // SIDs of 4 to L codes
};

Catalogue draw_shape(const Shape& shape, int64_t draws) {
  Catalogue catalogue = draw_catalogue(shape.skew, draws, shape.levels, shape.codes);
  if (!shape.varies) return catalogue;
  catalogue.ends = true;
  const int32_t end = shape.codes - 1;
  std::mt19937_64 random(9);
  for (int64_t i = 0; i < catalogue.sids; ++i) {
    int32_t* sid = catalogue.rows.data() + i * shape.levels;
    for (int32_t l = 0; l < shape.levels; ++l) sid[l] = std::min(sid[l], end - 1);
    std::fill(sid + 4 + random() % static_cast<uint64_t>(shape.levels - 3), sid + shape.levels, end);
  }
  return catalogue;
}

}  // namespace

Measurements rules_table(const Settings& settings) {
  Measurements out;
  constexpr Shape kShapes[] = {{Skew::kUniform, kLevels, kCodes, SIDBEAM_KIND_TRIE, false},
                               {Skew::kUniform, kLevels, kCodes, SIDBEAM_KIND_COMPACT_TRIE, false},
                               {Skew::kZipf, kLevels, kCodes, SIDBEAM_KIND_TRIE, false},
                               {Skew::kZipf, kLevels, kCodes, SIDBEAM_KIND_TRIE, true},
                               {Skew::kUniform, 4, 8192, SIDBEAM_KIND_TRIE, false}};
  for (const Shape& shape : kShapes) {
    const Catalogue catalogue = draw_shape(shape, settings.quick ? 20000 : 10000000);
    RulesCase c;
    c.runtime = runtime_of(1);
    const Builder builder = fill_builder(c.runtime.get(), catalogue, shape.kinds);
    c.index = make<Index>("builder_finish", sidbeam_builder_finish, builder.get());
    c.items = catalogue.sids;
    c.where = {{"N", catalogue.sids},
               {"V", int64_t{shape.codes}},
               {"L", shape.varies ? Value("4 to 8") : Value(int64_t{shape.levels})},
               {"SIDs", shape.skew == Skew::kUniform ? "uniform" : "zipf"},
               {"kind", shape.kinds == SIDBEAM_KIND_TRIE ? "trie" : "compact"}};
    c.runs = settings.quick ? 2 : 15;
    c.out = &out;
    measure_filters(c);
    measure_lists(c);
    measure_more(c);
  }
  return out;
}

}  // namespace bench
