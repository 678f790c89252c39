// Tables build, write and size: from rows in memory to an index. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "catalogue.h"
#include "index_tables.h"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr std::array<const char*, 6> kPhases = {"add", "sort", "scan", "emit", "checksum", "sync"};
constexpr size_t kAdd = 0, kSync = 5;

// Seconds by phase. A phase lasts until the progress callback first speaks of the next one.
struct PhaseClock {
  std::array<double, kPhases.size()> seconds{};
  size_t phase = kAdd;
  Clock::time_point since = Clock::now();

  void enter(size_t next) {
    const auto now = Clock::now();
    seconds[phase] += std::chrono::duration<double>(now - since).count();
    phase = next;
    since = now;
  }
};

int32_t enter_phase(void* context, int32_t phase, int64_t, int64_t) {
  auto& clock = *static_cast<PhaseClock*>(context);
  const auto next = static_cast<size_t>(phase) + 1;
  if (next != clock.phase && next < kPhases.size()) clock.enter(next);
  return 0;
}

// What a build took; numbers only, since it crosses from a child process.
struct Built {
  double sids = 0, bytes = 0, peak = 0, before = 0;
  std::array<double, kPhases.size()> seconds{};

  double total() const {
    double sum = 0;
    for (const double phase : seconds) sum += phase;
    return sum;
  }
};

std::vector<double> numbers_of(const Built& built) {
  std::vector<double> numbers = {built.sids, built.bytes, built.peak, built.before};
  numbers.insert(numbers.end(), built.seconds.begin(), built.seconds.end());
  return numbers;
}

Built built_of(const std::vector<double>& numbers) {
  Built built{numbers.at(0), numbers.at(1), numbers.at(2), numbers.at(3), {}};
  std::copy(numbers.begin() + 4, numbers.end(), built.seconds.begin());
  return built;
}

// Builds to memory, or, with a path, to a file.
Built build(const Pages<int32_t>& rows, BuildShape shape, const std::string& path) {
  const Runtime runtime = runtime_of(shape.threads);
  PhaseClock clock;
  shape.progress = enter_phase;
  shape.context = &clock;
  const double before = memory_of_this_process("VmRSS");
  const Builder builder = make_builder(runtime.get(), shape);
  Index index;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  clock.since = Clock::now();
  add_rows(builder.get(), rows, shape.levels);
  if (path.empty()) {
    index = make<Index>("builder_finish", sidbeam_builder_finish, builder.get());
  } else {
    call("builder_write", sidbeam_builder_write, builder.get(), path.c_str());
  }
  clock.enter(kAdd);
  const double peak = memory_of_this_process("VmHWM");
  if (path.empty()) {
    call("index_get_info", sidbeam_index_get_info, index.get(), &info);
  } else {
    call("index_peek", sidbeam_index_peek, path.c_str(), 0, nullptr, nullptr, nullptr, &info);
  }
  return {static_cast<double>(info.sids), static_cast<double>(info.file_bytes), peak, before, clock.seconds};
}

// By shape, each built `runs` times, in turns: the machine's speed may change over time.
std::vector<std::vector<Built>> build_often(const Pages<int32_t>& rows, const std::vector<BuildShape>& shapes, int runs,
                                            const std::string& path) {
  std::vector<std::vector<Built>> all(shapes.size());
  for (int run = 0; run < runs; ++run) {
    for (size_t s = 0; s < shapes.size(); ++s) {
      all[s].push_back(built_of(in_child([&] { return numbers_of(build(rows, shapes[s], path)); })));
      if (!path.empty()) std::filesystem::remove(path);
    }
  }
  return all;
}

template <class Number>
Statistics over(const std::vector<Built>& all, const Number& number) {
  std::vector<double> samples;
  for (const Built& built : all) samples.push_back(number(built));
  return summarise(samples);
}

Case case_of(int64_t sids, const BuildShape& shape) {
  return {{"V", int64_t{shape.codes}}, {"L", int64_t{shape.levels}}, {"N", sids}, {"threads", int64_t{shape.threads}}};
}

void add_build(Measurements& out, const char* name, const Case& where, const std::vector<Built>& all) {
  const auto add = [&](const std::string& what, const char* unit, const Statistics& value, const char* note) {
    out.push_back({"build", where, name + what, unit, value, note});
  };
  add("", "M SIDs/s", over(all, [](const Built& b) { return b.sids / b.total() / 1e6; }),
      "from rows in memory to an index in memory, checksums and item ids included");
  for (size_t phase = 0; phase < kSync; ++phase)
    add(std::string(": ") + kPhases[phase], "s", over(all, [phase](const Built& b) { return b.seconds[phase]; }), "");
  add(": peak memory", "GiB", over(all, [](const Built& b) { return (b.peak - b.before) / kGiB; }), "without the rows");
  add(": peak memory, rows included", "GiB", over(all, [](const Built& b) { return b.peak / kGiB; }), "VmHWM");
}

void add_write(Measurements& out, const char* name, const Case& where, const std::vector<Built>& all) {
  const auto add = [&](const char* what, const char* unit, const Statistics& value) {
    out.push_back({"write", where, std::string(name) + what, unit, value, ""});
  };
  add(": all", "s", over(all, [](const Built& b) { return b.total(); }));
  add(": without syncing", "s", over(all, [](const Built& b) { return b.total() - b.seconds[kSync]; }));
  add(": syncing", "s", over(all, [](const Built& b) { return b.seconds[kSync]; }));
  add(": synced", "GB/s", over(all, [](const Built& b) { return b.bytes / b.seconds[kSync] / 1e9; }));
}

// Bytes of everything except the items' rows, ids and names, and of the whole file.
std::pair<double, double> bytes_of(const sidbeam_index* index, const sidbeam_index_info& info) {
  double structure = 0;
  for (int64_t i = 0; i < info.section_count; ++i) {
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    call("index_get_section", sidbeam_index_get_section, index, i, &section);
    if (std::strncmp(section.kind, "item_", 5) != 0) structure += static_cast<double>(section.bytes);
  }
  return {structure, static_cast<double>(info.file_bytes)};
}

void add_size(Measurements& out, const std::string& skew, const Pages<int32_t>& rows, int32_t levels, int32_t codes,
              int threads) {
  for (const Kind& kind : kAllKinds) {
    if (kind.kinds == SIDBEAM_KIND_HASH && rows.size() / levels > kMostHashed) continue;
    const std::vector<double> numbers = in_child([&] {
      const Runtime runtime = runtime_of(threads);
      const Builder builder = make_builder(runtime.get(), {levels, codes, kind.kinds});
      add_rows(builder.get(), rows, levels);
      const auto index = make<Index>("builder_finish", sidbeam_builder_finish, builder.get());
      sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
      call("index_get_info", sidbeam_index_get_info, index.get(), &info);
      const auto [structure, file] = bytes_of(index.get(), info);
      const auto sids = static_cast<double>(info.sids);
      return std::vector<double>{structure / sids, file / sids, sids};
    });
    const Case where = {
        {"catalogue", skew}, {"V", int64_t{codes}}, {"L", int64_t{levels}}, {"N", rows.size() / levels}};
    const std::string note = std::to_string(static_cast<int64_t>(numbers.at(2))) + " distinct SIDs";
    out.push_back({"size", where, kind.name, "bytes a SID", exactly(numbers.at(0)), note});
    out.push_back(
        {"size", where, std::string(kind.name) + ", file with item ids", "bytes a SID", exactly(numbers.at(1)), note});
  }
}

int runs_of(const Settings& settings, int64_t sids) {
  if (settings.quick) return 2;
  // The first build of a large one touches memory that a virtual machine's host has yet to find.
  return sids > 1000000 ? 3 : 7;
}

// Every trie on one thread and on all threads; only on all if it takes long.
std::vector<BuildShape> shapes_of(const Settings& settings, std::span<const Kind> kinds, int32_t levels, bool quickly) {
  std::vector<BuildShape> shapes;
  for (const Kind& kind : kinds) {
    if (!quickly && settings.threads > 1) shapes.push_back({levels, kCodes, kind.kinds, 1});
    shapes.push_back({levels, kCodes, kind.kinds, settings.threads});
  }
  return shapes;
}

const char* name_of(const BuildShape& shape) {
  return std::find_if(std::begin(kAllKinds), std::end(kAllKinds), [&](const Kind& k) { return k.kinds == shape.kinds; })
      ->name;
}

}  // namespace

Measurements build_table(const Settings& settings) {
  Measurements out;
  for (const int64_t sids : sizes(settings)) {
    if (sids == 100000) continue;  // milliseconds
    for (const int32_t levels : {5, kLevels}) {
      const auto shapes = shapes_of(settings, kTries, levels, sids > 10000000);
      const auto all = build_often(draw_rows(sids, levels, kCodes, 1), shapes, runs_of(settings, sids), "");
      for (size_t s = 0; s < shapes.size(); ++s) add_build(out, name_of(shapes[s]), case_of(sids, shapes[s]), all[s]);
    }
  }
  return out;
}

Measurements write_table(const Settings& settings) {
  Measurements out;
  const int64_t sids = sizes(settings).back();
  const auto shapes = shapes_of(settings, kTries, kLevels, true);
  const auto all =
      build_often(draw_rows(sids, kLevels, kCodes, 1), shapes, runs_of(settings, sids), settings.files->scratch());
  for (size_t s = 0; s < shapes.size(); ++s) add_write(out, name_of(shapes[s]), case_of(sids, shapes[s]), all[s]);
  return out;
}

Measurements size_table(const Settings& settings) {
  Measurements out;
  for (const int64_t sids : sizes(settings))
    add_size(out, "uniform", draw_rows(sids, kLevels, kCodes, 1), kLevels, kCodes, settings.threads);
  const int64_t skewed = settings.quick ? 20000 : 10000000;
  const Catalogue zipf = draw_catalogue(Skew::kZipf, skewed, kLevels, kCodes);
  add_size(out, zipf.name, zipf.rows, kLevels, kCodes, settings.threads);
  for (const std::string& path : real_catalogues()) {
    const Catalogue real = read_catalogue(path, 256);
    add_size(out, real.name, real.rows, real.levels, real.codes, settings.threads);
  }
  return out;
}

}  // namespace bench
