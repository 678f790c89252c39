// Indexes to measure: random SIDs, the kinds that the library offers, files that are made once and removed at the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "library.h"
#include "pages.h"

namespace bench {

// The catalogue of most tables: STATIC's size of a SID.
constexpr int32_t kCodes = 2048;
constexpr int32_t kLevels = 8;

struct Kind {
  const char* name;
  int32_t kinds;
};
constexpr Kind kAllKinds[] = {{"trie", SIDBEAM_KIND_TRIE},
                              {"compact", SIDBEAM_KIND_COMPACT_TRIE},
                              {"sorted", SIDBEAM_KIND_SORTED},
                              {"hash", SIDBEAM_KIND_HASH}};
// A hash set of more does not fit beside the rest.
constexpr int64_t kMostHashed = 10000000;
constexpr std::span<const Kind> kTries = std::span(kAllKinds).first(2);

// For builds and verifications on that many threads.
Runtime runtime_of(int threads);

// [count, levels] codes, uniform, in no order; a seed gives the same everywhere.
Pages<int32_t> draw_rows(int64_t count, int32_t levels, int32_t codes, uint64_t seed);

struct BuildShape {
  int32_t levels = kLevels, codes = kCodes, kinds = SIDBEAM_KIND_TRIE;
  int threads = 0;  // 0: those of the runtime
  int32_t (*progress)(void* context, int32_t phase, int64_t done, int64_t total) = nullptr;
  void* context = nullptr;
};
// An empty builder.
Builder make_builder(sidbeam_runtime* runtime, const BuildShape& shape);
// Adds rows without ids: the id of an item is its row.
void add_rows(sidbeam_builder* builder, const Pages<int32_t>& rows, int32_t levels);

// Files by kind, N and seed, of kLevels levels of kCodes codes.
class IndexFiles {
 public:
  explicit IndexFiles(std::string folder);
  IndexFiles(const IndexFiles&) = delete;
  IndexFiles& operator=(const IndexFiles&) = delete;
  ~IndexFiles();

  // Its path; the file is made by the first call that asks for it, in a process of its own.
  const std::string& path(const Kind& kind, int64_t sids, uint64_t seed, int threads);
  // A path in the folder for what is written and removed at once.
  std::string scratch() const { return folder_ + "/scratch.sidx"; }

 private:
  std::string folder_;
  std::map<std::string, std::string> paths_;
};

}  // namespace bench
