// SPDX-License-Identifier: Apache-2.0
#include "catalogue.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>

#include "mix.h"

namespace bench {
namespace {

// A SID in 128 bits, level by level from the top: sorts as the SIDs do.
struct Key {
  uint64_t high = 0, low = 0;
  bool operator==(const Key& other) const { return high == other.high && low == other.low; }
  bool operator<(const Key& other) const { return high != other.high ? high < other.high : low < other.low; }
};

class Packing {
 public:
  Packing(int32_t levels, int32_t codes)
      : levels_(levels), bits_(std::max(1, static_cast<int32_t>(std::bit_width(static_cast<uint32_t>(codes - 1))))) {
    if (levels * bits_ > 128) throw std::invalid_argument("catalogue: SIDs of more than 128 bits");
  }

  Key pack(const int32_t* sid) const {
    Key key;
    for (int32_t l = 0; l < levels_; ++l) {
      key.high = key.high << bits_ | key.low >> (64 - bits_);
      key.low = key.low << bits_ | static_cast<uint64_t>(sid[l]);
    }
    return key;
  }

  void unpack(Key key, int32_t* sid) const {
    for (int32_t l = levels_ - 1; l >= 0; --l) {
      sid[l] = static_cast<int32_t>(key.low & ((uint64_t{1} << bits_) - 1));
      key.low = key.low >> bits_ | key.high << (64 - bits_);
      key.high >>= bits_;
    }
  }

 private:
  int32_t levels_, bits_;
};

void sort_into(Catalogue& catalogue, const Packing& packing, Pages<Key>& keys) {
  std::sort(keys.data(), keys.data() + keys.size());
  catalogue.sids = std::unique(keys.data(), keys.data() + keys.size()) - keys.data();
  catalogue.rows = Pages<int32_t>(catalogue.sids * catalogue.levels);
  for (int64_t i = 0; i < catalogue.sids; ++i) packing.unpack(keys[i], catalogue.rows.data() + i * catalogue.levels);
}

class Zipf {
 public:
  explicit Zipf(int32_t codes) {
    double sum = 0;
    for (int32_t r = 0; r < codes; ++r) ends_.push_back(sum += 1.0 / (r + 1));
  }
  uint64_t rank(uint64_t random) const {
    const double at = static_cast<double>(random >> 11) * 0x1p-53 * ends_.back();
    return static_cast<uint64_t>(std::upper_bound(ends_.begin(), ends_.end() - 1, at) - ends_.begin());
  }

 private:
  std::vector<double> ends_;
};

void draw_uniform(std::mt19937_64& random, int32_t levels, int32_t codes, int32_t* sid) {
  for (int32_t l = 0; l < levels; ++l)
    sid[l] = static_cast<int32_t>((random() >> 32) * static_cast<uint64_t>(codes) >> 32);
}

void draw_zipf(std::mt19937_64& random, const Zipf& zipf, int32_t levels, int32_t codes, int32_t* sid) {
  uint64_t prefix = 0;
  for (int32_t l = 0; l < levels; ++l) {
    const uint64_t code = (zipf.rank(random()) + mix(prefix)) % static_cast<uint64_t>(codes);
    prefix = extend(prefix, static_cast<uint32_t>(code));
    sid[l] = static_cast<int32_t>(code);
  }
}

}  // namespace

int32_t Catalogue::length(int64_t ordinal) const {
  if (!ends) return levels;
  const int32_t* codes_of = sid(ordinal);
  return static_cast<int32_t>(std::find(codes_of, codes_of + levels, codes - 1) - codes_of);
}

Catalogue draw_catalogue(Skew skew, int64_t draws, int32_t levels, int32_t codes) {
  Catalogue catalogue{skew == Skew::kZipf ? "zipf" : "uniform", levels, codes, 0, {}, false};
  const Packing packing(levels, codes);
  const Zipf zipf(skew == Skew::kZipf ? codes : 1);
  std::mt19937_64 random(1);
  std::vector<int32_t> sid(static_cast<size_t>(levels));
  Pages<Key> keys(draws);
  for (int64_t i = 0; i < draws; ++i) {
    if (skew == Skew::kZipf) {
      draw_zipf(random, zipf, levels, codes, sid.data());
    } else {
      draw_uniform(random, levels, codes, sid.data());
    }
    keys[i] = packing.pack(sid.data());
  }
  sort_into(catalogue, packing, keys);
  return catalogue;
}

// Not a JSON parser: the codes are the numbers between '_' and '>', a SID is what stands between brackets.
Catalogue read_catalogue(const std::string& path, int32_t codes) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::vector<int32_t>> sids;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') sids.emplace_back();
    if (text[i] == '_' && !sids.empty()) sids.back().push_back(std::atoi(text.c_str() + i + 1));
  }
  if (sids.empty()) throw std::runtime_error(path + ": no SIDs");
  Catalogue catalogue{std::filesystem::path(path).filename().string(), 0, codes, 0, {}, false};
  catalogue.name = catalogue.name.substr(0, catalogue.name.find('.'));
  catalogue.levels = static_cast<int32_t>(sids[0].size());
  const Packing packing(catalogue.levels, codes);
  Pages<Key> keys(static_cast<int64_t>(sids.size()));
  for (int64_t i = 0; i < keys.size(); ++i) {
    const std::vector<int32_t>& sid = sids[static_cast<size_t>(i)];
    const bool fits = std::all_of(sid.begin(), sid.end(), [codes](int32_t c) { return c >= 0 && c < codes; });
    if (static_cast<int32_t>(sid.size()) != catalogue.levels || !fits)
      throw std::runtime_error(path + ": SID " + std::to_string(i) + " is not " + std::to_string(catalogue.levels) +
                               " codes below " + std::to_string(codes));
    keys[i] = packing.pack(sid.data());
  }
  sort_into(catalogue, packing, keys);
  return catalogue;
}

std::vector<std::string> real_catalogues() {
  const char* given = std::getenv("SIDBEAM_DATA");
  const std::filesystem::path folder = given != nullptr ? given : BENCH_DATA;
  std::vector<std::string> paths;
  if (!std::filesystem::is_directory(folder)) return paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().string().ends_with(".index.json")) paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace bench
