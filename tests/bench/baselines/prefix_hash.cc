// Prefixes by their hashes: a bitmap, and one set per level. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <vector>

#include "mix.h"
#include "validity.h"

namespace bench {
namespace {

constexpr Place kRoot = 0;

// Calls visit(level, hash) once for every prefix of the catalogue, the empty one left out.
template <typename Visit>
void for_each_prefix(const Catalogue& catalogue, Visit visit) {
  std::vector<Place> path(static_cast<size_t>(catalogue.levels) + 1, kRoot);
  for (int64_t i = 0; i < catalogue.sids; ++i) {
    const int32_t* sid = catalogue.sid(i);
    int32_t l = 0;
    if (i > 0)
      while (sid[l] == catalogue.sid(i - 1)[l]) ++l;
    for (; l < catalogue.levels; ++l) {
      const Place hash = extend(path[static_cast<size_t>(l)], static_cast<uint32_t>(sid[l]));
      path[static_cast<size_t>(l) + 1] = hash;
      visit(l, hash);
    }
  }
}

class HashBitmap final : public Validity {
 public:
  explicit HashBitmap(const Catalogue& catalogue) : codes_(catalogue.codes), words_(int64_t{1} << (kBits - 6)) {
    for_each_prefix(catalogue, [this](int32_t, Place hash) { words_[word_of(hash)] |= bit_of(hash); });
  }

  Place root() const override { return kRoot; }

  void mask(Place place, int32_t level, uint8_t* mask) const override {
    for (int32_t t = 0; t < codes_; ++t) mask[t] = find(place, level, t).has_value() ? 1 : 0;
  }

  std::optional<Place> find(Place place, int32_t, int32_t code) const override {
    const Place hash = extend(place, static_cast<uint32_t>(code));
    if ((words_[word_of(hash)] & bit_of(hash)) == 0) return std::nullopt;
    return hash;
  }

 private:
  static constexpr int kBits = 30;
  static int64_t word_of(Place hash) { return static_cast<int64_t>(hash >> (64 - kBits + 6)); }
  static uint64_t bit_of(Place hash) { return uint64_t{1} << (hash >> (64 - kBits) & 63); }

  int32_t codes_;
  Pages<uint64_t> words_;
};

// Hashes of 64 bits stand for the prefixes themselves; 0 is an empty place.
class PrefixSet {
 public:
  explicit PrefixSet(int64_t prefixes)
      : shift_(64 - static_cast<int>(std::bit_width(static_cast<uint64_t>(2 * std::max<int64_t>(prefixes, 4))))),
        slots_(int64_t{1} << (64 - shift_)) {}

  void insert(Place hash) {
    int64_t at = home_of(hash);
    while (slots_[at] != 0 && slots_[at] != hash) at = next(at);
    slots_[at] = hash;
  }

  bool contains(Place hash) const {
    int64_t at = home_of(hash);
    while (slots_[at] != 0 && slots_[at] != hash) at = next(at);
    return slots_[at] == hash;
  }

 private:
  int64_t home_of(Place hash) const { return static_cast<int64_t>(hash >> shift_); }
  int64_t next(int64_t at) const { return (at + 1) & (slots_.size() - 1); }

  int shift_;
  Pages<Place> slots_;
};

class HashSet final : public Validity {
 public:
  explicit HashSet(const Catalogue& catalogue) : codes_(catalogue.codes) {
    std::vector<int64_t> prefixes(static_cast<size_t>(catalogue.levels));
    for_each_prefix(catalogue, [&](int32_t level, Place) { ++prefixes[static_cast<size_t>(level)]; });
    for (const int64_t count : prefixes) levels_.emplace_back(count);
    for_each_prefix(catalogue, [this](int32_t level, Place hash) { levels_[static_cast<size_t>(level)].insert(hash); });
  }

  Place root() const override { return kRoot; }

  void mask(Place place, int32_t level, uint8_t* mask) const override {
    const PrefixSet& set = levels_[static_cast<size_t>(level)];
    for (int32_t t = 0; t < codes_; ++t) mask[t] = set.contains(extend(place, static_cast<uint32_t>(t))) ? 1 : 0;
  }

  std::optional<Place> find(Place place, int32_t level, int32_t code) const override {
    const Place hash = extend(place, static_cast<uint32_t>(code));
    if (!levels_[static_cast<size_t>(level)].contains(hash)) return std::nullopt;
    return hash;
  }

 private:
  int32_t codes_;
  std::vector<PrefixSet> levels_;
};

}  // namespace

std::unique_ptr<Validity> make_hash_bitmap(const Catalogue& catalogue) {
  return std::make_unique<HashBitmap>(catalogue);
}

std::unique_ptr<Validity> make_hash_set(const Catalogue& catalogue) { return std::make_unique<HashSet>(catalogue); }

}  // namespace bench
