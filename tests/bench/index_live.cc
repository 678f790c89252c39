// Table live: what a live catalogue costs its writer and those who open it: adding, publishing, removing, going back,
// recovering, compacting; and what new items cost by their rate. Processor time of the process, which has one thread;
// files are in the folder of --dir.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <numeric>
#include <random>

#include "index_tables.h"

namespace bench {
namespace {

struct LiveCase {
  Runtime runtime;
  const sidbeam_catalog_config* config = nullptr;
  Index base;
  const Catalogue* catalogue = nullptr;  // of the base
  int32_t codes = 0;
  std::string folder;
  Case where;
  int runs = 0;
  Measurements* out = nullptr;

  void report(const std::string& what, const char* unit, const std::vector<double>& values) const {
    report(where, what, unit, values);
  }
  void report(const Case& at, const std::string& what, const char* unit, const std::vector<double>& values) const {
    out->push_back({"live", at, what, unit, summarise(values), ""});
  }
  Catalog create(const char* in = nullptr) const {
    return make<Catalog>("catalog_create", sidbeam_catalog_create, base.get(), in, config);
  }
};

template <class Work>
double ms_of(const Work& work) {
  const double begin = processor_seconds();
  work();
  return (processor_seconds() - begin) * 1e3;
}

// Pairs of new items, whose SIDs are drawn as the base's were: each shares a prefix with one of them.
struct Fresh {
  std::vector<int32_t> codes;
  std::vector<int64_t> ids;

  Fresh(const LiveCase& c, int64_t count, uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto levels = static_cast<size_t>(c.catalogue->levels);
    for (int64_t i = 0; i < count; ++i) {
      const int32_t* like = c.catalogue->sid(static_cast<int64_t>(random() % static_cast<uint64_t>(c.catalogue->sids)));
      const size_t kept = random() % levels;
      for (size_t l = 0; l < levels; ++l)
        codes.push_back(l < kept ? like[l] : static_cast<int32_t>(random() % static_cast<uint64_t>(c.codes)));
      ids.push_back((int64_t{1} << 40) + static_cast<int64_t>(seed << 24) + i);
    }
  }
  void add_to(sidbeam_catalog* catalog) const {
    sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
    pairs.codes = codes.data();
    pairs.ids = ids.data();
    pairs.count = static_cast<int64_t>(ids.size());
    call("catalog_add", sidbeam_catalog_add, catalog, &pairs);
  }
};

void publish(sidbeam_catalog* catalog) { call("catalog_publish", sidbeam_catalog_publish, catalog, nullptr); }

std::string thousands(int64_t count) {
  return count >= 1000000 ? std::to_string(count / 1000000) + "e6" : std::to_string(count / 1000) + "e3";
}

// As a service does it for a request that begins after a publish.
void switch_to_newest(sidbeam_catalog* catalog, sidbeam_session* session) {
  const Index newest = make<Index>("catalog_snapshot", sidbeam_catalog_snapshot, catalog, 0);
  const Constraint constraint = constrain(newest.get());
  sidbeam_constraint* const chosen = constraint.get();
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.constraints = &chosen;
  call("session_start", sidbeam_session_start, session, &start);
}

void measure_additions(const LiveCase& c, int64_t count) {
  std::vector<double> adds, publishes, more, switches;
  double bytes = 0;
  for (int run = 0; run < c.runs; ++run) {
    const Catalog catalog = c.create();
    const Fresh first(c, count, 1), second(c, std::max<int64_t>(count / 100, 1), 2);
    const Constraint constraint = constrain(c.base.get());
    sidbeam_session_config search = SIDBEAM_SESSION_CONFIG_INIT;
    search.beams = 50;
    search.constraint = constraint.get();
    const Session session = make<Session>("session_create", sidbeam_session_create, c.runtime.get(), &search);
    adds.push_back(ms_of([&] { first.add_to(catalog.get()); }) * 1e6 / static_cast<double>(count));
    publishes.push_back(ms_of([&] { publish(catalog.get()); }));
    second.add_to(catalog.get());
    more.push_back(ms_of([&] { publish(catalog.get()); }));
    switches.push_back(ms_of([&] { switch_to_newest(catalog.get(), session.get()); }) * 1e3);
    sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
    call("catalog_get_info", sidbeam_catalog_get_info, catalog.get(), &info);
    bytes = static_cast<double>(info.memory_bytes) / static_cast<double>(info.added);
  }
  const std::string name = thousands(count) + " added";
  c.report(name + ": add", "ns/pair", adds);
  c.report(name + ": publish", "ms", publishes);
  c.report(name + ": publish 1 % more", "ms", more);
  c.report(name + ": a request's switch", "us", switches);
  c.report(name + ": memory", "B/pair", {bytes});
}

void remove(const LiveCase& c, sidbeam_catalog* catalog, int64_t count) {
  std::mt19937_64 random(3);
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i)
    ids.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(c.catalogue->sids)));
  const sidbeam_item_list list = list_of(ids, SIDBEAM_ITEMS_BY_ID);
  call("catalog_remove", sidbeam_catalog_remove, catalog, &list, nullptr);
}

void measure_removals(const LiveCase& c, int64_t count) {
  std::vector<double> removes, publishes, again, backs;
  for (int run = 0; run < c.runs; ++run) {
    const Catalog catalog = c.create();
    remove(c, catalog.get(), 1);  // makes the table of the base's ids
    publish(catalog.get());
    removes.push_back(ms_of([&] { remove(c, catalog.get(), count); }));
    publishes.push_back(ms_of([&] { publish(catalog.get()); }));
    backs.push_back(ms_of([&] { call("catalog_rollback", sidbeam_catalog_rollback, catalog.get(), 2, nullptr); }));
  }
  const std::string name = thousands(count) + " removed";
  c.report(name + ": remove", "ms", removes);
  c.report(name + ": publish", "ms", publishes);
  c.report(name + ": rollback", "ms", backs);
}

// What a compaction is to be as fast as: an index of the same pairs, all with their ids, built by a host.
void build_same(const LiveCase& c, const Fresh& fresh) {
  const std::vector<int32_t> codes(static_cast<size_t>(kLevels), c.codes);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = kLevels;
  config.codes = codes.data();
  config.kinds = SIDBEAM_KIND_COMPACT_TRIE;
  const Builder builder = make<Builder>("builder_create", sidbeam_builder_create, c.runtime.get(), &config);
  constexpr int64_t kPart = 1 << 20;
  std::vector<int64_t> ids;
  for (int64_t first = 0; first < c.catalogue->sids; first += kPart) {
    ids.resize(static_cast<size_t>(std::min(kPart, c.catalogue->sids - first)));
    std::iota(ids.begin(), ids.end(), first);
    call("builder_add", sidbeam_builder_add, builder.get(), c.catalogue->sid(first), nullptr, std::ssize(ids),
         ids.data(), nullptr);
  }
  call("builder_add", sidbeam_builder_add, builder.get(), fresh.codes.data(), nullptr, std::ssize(fresh.ids),
       fresh.ids.data(), nullptr);
  (void)make<Index>("builder_finish", sidbeam_builder_finish, builder.get());
}

void measure_folder(const LiveCase& c, int64_t count) {
  std::vector<double> opens, compactions, builds;
  for (int run = 0; run < std::min(c.runs, 3); ++run) {
    std::filesystem::remove_all(c.folder);
    Catalog catalog = c.create(c.folder.c_str());
    Fresh(c, count, 1).add_to(catalog.get());
    publish(catalog.get());
    catalog.reset();
    opens.push_back(ms_of([&] {
      catalog = make<Catalog>("catalog_open", sidbeam_catalog_open, c.runtime.get(), c.folder.c_str(), c.config);
    }));
    catalog.reset();
    const Catalog in_memory = c.create();
    Fresh(c, count, 1).add_to(in_memory.get());
    publish(in_memory.get());
    compactions.push_back(
        ms_of([&] { call("catalog_compact", sidbeam_catalog_compact, in_memory.get(), nullptr, nullptr); }));
    const Fresh fresh(c, count, 1);
    builds.push_back(ms_of([&] { build_same(c, fresh); }));
  }
  std::filesystem::remove_all(c.folder);
  c.report("recover " + thousands(count) + " added", "ms", opens);
  c.report("compact " + thousands(count) + " added", "ms", compactions);
  c.report("build of the same pairs", "ms", builds);
}

// A publish a second while items come at a rate, and a compaction whenever 5 % of the base have been added, beside
// building anew, which is what serves new items where a catalogue cannot change: what an add waits for at least, and
// the processor time that a second of it takes.
void measure_rates(const LiveCase& c) {
  constexpr int kFills = 4;
  const int64_t due = c.catalogue->sids / 20;
  std::vector<int64_t> rates;
  for (int64_t rate = 10; rate < due / 20; rate *= 10) rates.push_back(rate);
  std::vector<std::vector<double>> waits(rates.size());
  const Catalog catalog = c.create();
  for (int fill = 0; fill < kFills; ++fill) {
    if (fill > 0) Fresh(c, due / (kFills - 1), static_cast<uint64_t>(fill)).add_to(catalog.get());
    publish(catalog.get());
    for (size_t i = 0; i < rates.size(); ++i) {
      Fresh(c, rates[i], 100 + static_cast<uint64_t>(fill) * 10 + i).add_to(catalog.get());
      waits[i].push_back(ms_of([&] { publish(catalog.get()); }));
    }
  }
  const double compaction =
      ms_of([&] { call("catalog_compact", sidbeam_catalog_compact, catalog.get(), nullptr, nullptr); });
  const double build = ms_of([&] { (void)build_index(c.runtime.get(), *c.catalogue, SIDBEAM_KIND_COMPACT_TRIE); });
  for (size_t i = 0; i < rates.size(); ++i) {
    Case at = c.where;
    at.emplace_back("adds a second", rates[i]);
    double sum = 0;
    for (const double wait : waits[i]) sum += wait;
    const double compacting = compaction * static_cast<double>(rates[i]) / static_cast<double>(due);
    c.report(at, "published", "ms to be visible", waits[i]);
    c.report(at, "built anew", "ms to be visible", {build});
    c.report(at, "published, compacted", "ms per second", {sum / kFills + compacting});
    c.report(at, "built anew each second", "ms per second", {build});
  }
}

LiveCase case_of(const Settings& settings, const sidbeam_catalog_config& config, const Catalogue& catalogue, Skew skew,
                 Measurements& out) {
  LiveCase c;
  c.runtime = runtime_of(1);
  c.config = &config;
  c.base = build_index(c.runtime.get(), catalogue, SIDBEAM_KIND_COMPACT_TRIE);
  c.catalogue = &catalogue;
  c.codes = kCodes;
  c.folder = settings.files->scratch() + ".live";
  c.where = {{"N", catalogue.sids},
             {"V", int64_t{kCodes}},
             {"L", int64_t{kLevels}},
             {"SIDs", skew == Skew::kUniform ? "uniform" : "zipf"}};
  c.runs = settings.quick ? 2 : 7;
  c.out = &out;
  return c;
}

}  // namespace

Measurements live_table(const Settings& settings) {
  Measurements out;
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  config.sync = SIDBEAM_SYNC_HOST;
  for (const Skew skew : {Skew::kUniform, Skew::kZipf}) {
    const Catalogue catalogue = draw_catalogue(skew, settings.quick ? 20000 : 10000000, kLevels, kCodes);
    const LiveCase c = case_of(settings, config, catalogue, skew, out);
    for (const int64_t count : {int64_t{1000}, int64_t{100000}, int64_t{1000000}})
      if (!settings.quick || count == 1000) measure_additions(c, count);
    measure_removals(c, settings.quick ? 1000 : 100000);
    measure_folder(c, settings.quick ? 1000 : 1000000);
    measure_rates(c);
  }
  return out;
}

}  // namespace bench
