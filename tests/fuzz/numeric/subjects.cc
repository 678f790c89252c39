// SPDX-License-Identifier: Apache-2.0
#include "subjects.h"

#include <algorithm>
#include <random>

#include "float_mode.h"

namespace fuzz::numeric {
namespace {

constexpr int32_t kAll = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH;
constexpr int32_t kCompact = SIDBEAM_KIND_COMPACT_TRIE | SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED;

struct Shape {
  std::vector<int32_t> codes;
  bool variable;
  int32_t kinds;
  int32_t count;
  int32_t shared;  // of `count` SIDs, those that begin as another one
};

// Wide roots with masks, lists of all sizes, chains of only children, tails, and SIDs that end early.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {{4, 4, 4}, false, kAll, 6, 3},          {{4, 4, 4}, true, kAll, 7, 4},
      {{70, 3}, false, kAll, 120, 0},          {{16, 16, 16}, false, kAll, 200, 120},
      {{5, 6, 7, 8}, true, kAll, 150, 100},    {{3, 4, 4, 4, 4, 4}, false, kAll, 14, 6},
      {{3, 4, 4, 4, 4, 4}, true, kAll, 14, 6}, {{300}, false, kAll, 250, 0},
      {{8, 30, 9}, false, kCompact, 90, 40},   {{8, 30, 9, 4}, true, kCompact, 90, 40}};
  return all;
}

Catalogue draw_catalogue(const Shape& shape, uint32_t seed) {
  std::mt19937 noise(seed);
  Catalogue catalogue;
  catalogue.codes = shape.codes;
  catalogue.variable_length = shape.variable;
  catalogue.kinds = shape.kinds;
  const size_t levels = shape.codes.size();
  for (int32_t i = 0; i < shape.count; ++i) {
    // A SID that begins as another one has its first codes, all except the last or two.
    const size_t from = i > 0 ? noise() % static_cast<size_t>(i) * levels : 0;
    const size_t same = i < shape.shared && i > 0 && levels > 1 ? levels - 1 - noise() % 2 : 0;
    for (size_t l = 0; l < levels; ++l)
      catalogue.sids.push_back(l < same ? catalogue.sids[from + l]
                                        : static_cast<int32_t>(noise() % static_cast<uint32_t>(shape.codes[l])));
    const auto length = shape.variable ? 1 + noise() % levels : levels;
    catalogue.lengths.push_back(static_cast<int32_t>(length));
  }
  return catalogue;
}

oracle::Catalogue known(const Catalogue& catalogue) {
  std::vector<oracle::Pair> pairs;
  const size_t levels = catalogue.codes.size();
  for (size_t i = 0; i < catalogue.lengths.size(); ++i) {
    const int32_t* sid = catalogue.sids.data() + i * levels;
    pairs.push_back({oracle::Sid(sid, sid + catalogue.lengths[i]), static_cast<int64_t>(i), 0});
  }
  return oracle::make_catalogue(catalogue.codes, catalogue.variable_length, pairs);
}

Way make_way(std::string name, handles::Runtime runtime) {
  Way way{std::move(name), std::move(runtime), {}};
  for (const Subject& subject : subjects()) {
    sidbeam_index* index = nullptr;
    sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
    config.verify = SIDBEAM_VERIFY_FULL;
    differential::call("sidbeam_index_open_memory", sidbeam_index_open_memory, way.runtime.get(), subject.file.get(),
                       subject.bytes, nullptr, nullptr, &config, &index);
    const handles::Index opened(index);
    way.constraints.push_back(differential::constrain(index));
  }
  return way;
}

// A host whose threads take the last task first, each in a float mode of its own.
handles::Runtime host_runtime() {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 1;
  config.step_threads = 3;
  config.step_grain = 1;
  config.execute = [](void* /*context*/, int32_t count, void (*task)(void* data, int32_t i), void* data) {
    while (count > 0) {
      const FloatMode mode(FloatMode::kModes[static_cast<size_t>(count + 2) % std::size(FloatMode::kModes)]);
      task(data, --count);
    }
  };
  sidbeam_runtime* runtime = nullptr;
  differential::call("sidbeam_runtime_create", sidbeam_runtime_create, &config, &runtime);
  return handles::Runtime(runtime);
}

}  // namespace

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = [] {
    std::vector<Subject> made;
    for (const Shape& shape : shapes()) {
      const Catalogue catalogue = draw_catalogue(shape, static_cast<uint32_t>(made.size()) + 20240611);
      const std::vector<uint8_t> file = bytes_of(catalogue);
      made.push_back(
          {known(catalogue), shape.kinds, block_of(file.data(), file.size()), static_cast<int64_t>(file.size())});
    }
    return made;
  }();
  return all;
}

const Ways& ways() {
  static const Ways instance = [] {
    Ways made;
    const std::string best = sidbeam_cpu_target();
    made.all.push_back(make_way(best, differential::make_runtime(nullptr)));
    for (const char* target : {"baseline", "avx2", "avx512", "neon"}) {
      handles::Runtime runtime = best != target ? differential::make_runtime(target) : nullptr;
      if (runtime != nullptr) made.all.push_back(make_way(target, std::move(runtime)));
    }
    made.alone = made.all.size();
    made.all.push_back(make_way("3 tasks of the host", host_runtime()));
    made.all.push_back(make_way("2 threads", differential::make_runtime(nullptr, 2)));
    made.all.push_back(make_way("4 threads", differential::make_runtime(nullptr, 4)));
    return made;
  }();
  return instance;
}

}  // namespace fuzz::numeric
