// SPDX-License-Identifier: Apache-2.0
#include "titles.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "mix.h"

namespace bench {
namespace {

// Uniform numbers in [0, 1), the same on every machine (std::*_distribution is not).
class Random {
 public:
  double next() { return static_cast<double>(mix(++count_) >> 11) * 0x1p-53; }
  int64_t below(int64_t n) { return static_cast<int64_t>(next() * static_cast<double>(n)); }
  double normal() { return std::sqrt(-2 * std::log(1 - next())) * std::cos(6.283185307179586 * next()); }

 private:
  uint64_t count_ = 0;
};

// Tokens by rank: their numbers say nothing about how frequent they are.
class Tokens {
 public:
  Tokens() {
    double sum = 0;
    for (int32_t rank = 0; rank < kTitleTokens; ++rank) ends_.push_back(sum += 1.0 / (rank + 2.7));
  }
  int32_t draw(Random& random) const {
    const double at = random.next() * ends_.back();
    const int64_t rank = std::upper_bound(ends_.begin(), ends_.end() - 1, at) - ends_.begin();
    return static_cast<int32_t>(rank * 101141 % kTitleTokens);  // a bijection: 101141 is prime
  }

 private:
  std::vector<double> ends_;
};

// Titles one after the other: title i is tokens[ends[i - 1], ends[i]).
struct Flat {
  std::vector<int32_t> tokens;
  std::vector<int64_t> ends = {0};

  int64_t length(int64_t i) const { return ends.data()[i + 1] - ends.data()[i]; }
  const int32_t* title(int64_t i) const { return tokens.data() + ends.data()[i]; }
};

int64_t draw_length(Random& random) {
  const double length = std::exp(1.89 + 0.54 * random.normal());
  return std::clamp(std::llround(length), 1LL, static_cast<long long>(kLongestTitle));
}

// Of the tokens of title `of`, how many another one takes: each with chance 0.6 if the one before was taken.
int64_t draw_shared(Random& random, int64_t most) {
  int64_t shared = 0;
  while (shared < most && random.next() < 0.6) ++shared;
  return shared;
}

Flat draw_flat(int64_t draws) {
  Flat flat;
  Random random;
  const Tokens tokens;
  for (int64_t i = 0; i < draws; ++i) {
    const int64_t length = draw_length(random);
    int64_t shared = 0;
    if (i > 0) {
      const int64_t of = random.below(i);
      shared = draw_shared(random, std::min(length, flat.length(of)));
      const int64_t first = flat.ends.data()[of];
      for (int64_t t = 0; t < shared; ++t) flat.tokens.push_back(flat.tokens.data()[first + t]);
    }
    for (int64_t t = shared; t < length; ++t) flat.tokens.push_back(tokens.draw(random));
    flat.ends.push_back(static_cast<int64_t>(flat.tokens.size()));
  }
  return flat;
}

// A title stands after those that continue it: the end is the largest code.
bool before(const Flat& flat, int64_t a, int64_t b) {
  const int64_t common = std::min(flat.length(a), flat.length(b));
  const int32_t *x = flat.title(a), *y = flat.title(b);
  const auto [p, q] = std::mismatch(x, x + common, y);
  if (p != x + common) return *p < *q;
  return flat.length(a) > flat.length(b);
}

bool same(const Flat& flat, int64_t a, int64_t b) {
  return flat.length(a) == flat.length(b) && std::equal(flat.title(a), flat.title(a) + flat.length(a), flat.title(b));
}

}  // namespace

Catalogue draw_titles(int64_t draws) {
  const Flat flat = draw_flat(draws);
  std::vector<int64_t> order(static_cast<size_t>(draws));
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return before(flat, a, b); });
  order.erase(std::unique(order.begin(), order.end(), [&](int64_t a, int64_t b) { return same(flat, a, b); }),
              order.end());
  Catalogue catalogue{"titles", kLongestTitle, kTitleTokens + 1, std::ssize(order), {}, true};
  catalogue.rows = Pages<int32_t>(catalogue.sids * kLongestTitle);
  for (int64_t i = 0; i < catalogue.sids; ++i) {
    int32_t* row = catalogue.rows.data() + i * kLongestTitle;
    const int64_t title = order.data()[i], length = flat.length(title);
    std::copy_n(flat.title(title), length, row);
    std::fill(row + length, row + kLongestTitle, kTitleTokens);
  }
  return catalogue;
}

}  // namespace bench
