// SPDX-License-Identifier: Apache-2.0
#include "draws_method.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "backend/draw.h"
#include "score.h"
#include "sidbeam_method.h"
#include "vectorised.h"

namespace bench {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Place kDead = ~Place{0};

BENCH_VECTORISED void mask_row(const float* x, const uint8_t* mask, int64_t n, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = mask[i] != 0 ? x[i] : -kInfinity;
}

BENCH_VECTORISED void write_row_keys(const float* x, int64_t n, uint64_t* keys) {
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(x[i], static_cast<uint32_t>(i));
}

// What may be drawn of one row: x[i] belongs to codes[i], or, if there are no codes, to code i.
class Candidates {
 public:
  explicit Candidates(int64_t most)
      : x(static_cast<size_t>(most + sidbeam::cpu::kVectorSlack)),
        powers_(x.size()),
        sums_(x.size() / sidbeam::cpu::kDrawBlock + 2) {}

  // False if there is nothing to draw.
  bool weigh() {
    const float largest = count > 0 ? kernels().largest(x.data(), count) : -kInfinity;
    if (largest == -kInfinity) return false;
    total_ = kernels().weigh(x.data(), count, largest, sidbeam::kWeightBits, powers_.data(), sums_.data());
    return true;
  }
  int64_t pick(uint64_t bits) const {
    int32_t chosen = 0;
    kernels().choose(powers_.data(), sums_.data(), count, total_, &bits, 1, &chosen);
    return chosen;
  }
  int32_t code(int64_t i) const { return codes.empty() ? static_cast<int32_t>(i) : codes.data()[i]; }

  std::vector<float> x;
  std::vector<int32_t> codes;
  int64_t count = 0;
  Normalizer normalizer;

 private:
  std::vector<float> powers_;
  std::vector<uint64_t> sums_;
  uint64_t total_ = 0;
};

class DrawsMethod final : public Method {
 public:
  DrawsMethod(const Validity* validity, const Shape& shape, int32_t probes)
      : validity_(*validity),
        shape_(shape),
        probes_(std::min(probes, shape.codes)),
        cells_(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams)),
        parents_(cells_),
        codes_(cells_),
        live_(static_cast<size_t>(shape.slots)),
        scores_(cells_),
        places_(cells_),
        numbers_(static_cast<size_t>(shape.beams)),
        bits_(static_cast<size_t>(shape.beams + sidbeam::cpu::kVectorSlack)),
        mask_(static_cast<size_t>(shape.codes)),
        keys_(probes > 0 ? shape.codes : 0),
        listed_(shape.codes) {
    if (shape.columns != shape.codes || shape.dtype != SIDBEAM_DTYPE_F32)
      throw std::invalid_argument("draws: rows are f32, of the level's codes");
    std::iota(numbers_.begin(), numbers_.end(), 0);
  }

  void start() override {
    std::fill(places_.begin(), places_.end(), validity_.root());
    std::fill(scores_.begin(), scores_.end(), 0.0F);
    std::fill(live_.begin(), live_.end(), shape_.beams);
  }

  void step(int32_t level, const Rows& rows) override {
    for (int32_t slot = 0; slot < shape_.slots; ++slot)
      if (level == 0 || any_active(slot)) step_slot(level, rows, slot);
  }

  BeamsView beams() const override { return {parents_.data(), codes_.data(), scores_.data(), live_.data()}; }

 private:
  size_t first_cell(int32_t slot) const { return static_cast<size_t>(slot) * static_cast<size_t>(shape_.beams); }
  bool dead(size_t cell) const { return places_[cell] == kDead; }
  // After the first level.
  bool ended(size_t cell) const { return codes_[cell] < 0 || (shape_.ends && codes_[cell] == shape_.codes - 1); }
  bool any_active(int32_t slot) const {
    const size_t first = first_cell(slot);
    for (size_t cell = first; cell < first + static_cast<size_t>(shape_.beams); ++cell)
      if (!dead(cell) && !ended(cell)) return true;
    return false;
  }

  void step_slot(int32_t level, const Rows& rows, int32_t slot) {
    kernels().random_bits(kSeed, slot, numbers_.data(), level, shape_.beams, bits_.data());
    bool listed = false;
    for (int32_t m = 0; m < shape_.beams; ++m) {
      const size_t cell = first_cell(slot) + static_cast<size_t>(m);
      if (level > 0 && (dead(cell) || ended(cell))) {
        parents_[cell] = dead(cell) ? -1 : m;
        codes_[cell] = -1;
        continue;
      }
      // The first codes of a slot are all drawn from one row.
      if (level > 0 || m == 0) listed = list(rows, slot, m, level, places_[cell]);
      draw(cell, level, level > 0 ? m : 0, listed, bits_[static_cast<size_t>(m)]);
    }
  }

  bool list(const Rows& rows, int32_t slot, int32_t m, int32_t level, Place place) {
    const auto* x = static_cast<const float*>(rows.row(slot, m));
    if (probes_ > 0) return probe(x, level, place);
    std::fill(mask_.begin(), mask_.end(), uint8_t{0});
    validity_.mask(place, level, mask_.data());
    listed_.normalizer = normalizer_of(rows, shape_, slot, m);
    mask_row(x, mask_.data(), shape_.codes, listed_.x.data());
    listed_.count = shape_.codes;
    return listed_.weigh();
  }

  bool probe(const float* x, int32_t level, Place place) {
    write_row_keys(x, shape_.codes, keys_.data());
    uint64_t *first = keys_.data(), *kth = first + probes_, *last = first + shape_.codes;
    if (kth != last) std::nth_element(first, kth, last, std::greater<>());
    best_.clear();
    for (const uint64_t* key = first; key != kth; ++key) best_.push_back(static_cast<int32_t>(place_of(*key)));
    std::sort(best_.begin(), best_.end());
    listed_.normalizer = normalizer_of_best(x);
    listed_.codes.clear();
    for (const int32_t code : best_) {
      if (!validity_.find(place, level, code)) continue;
      listed_.x[listed_.codes.size()] = x[code];
      listed_.codes.push_back(code);
    }
    listed_.count = std::ssize(listed_.codes);
    return listed_.weigh();
  }

  Normalizer normalizer_of_best(const float* x) {
    for (size_t i = 0; i < best_.size(); ++i) listed_.x[i] = x[best_[i]];
    sidbeam::PartialSum sum;
    const float* data = listed_.x.data();
    kernels().sum_exp({data, SIDBEAM_DTYPE_F32, 1.0F, 0.0F, data}, std::ssize(best_), nullptr, sum);
    return sidbeam::log_of(sum);
  }

  void draw(size_t cell, int32_t level, int32_t parent, bool listed, uint64_t bits) {
    if (!listed) {
      parents_[cell] = codes_[cell] = -1;
      scores_[cell] = -kInfinity;
      places_[cell] = kDead;
      --live_[cell / static_cast<size_t>(shape_.beams)];
      return;
    }
    const int64_t i = listed_.pick(bits);
    parents_[cell] = parent;
    codes_[cell] = listed_.code(i);
    scores_[cell] = score_of(scale_of(scores_[cell], listed_.normalizer), listed_.x[static_cast<size_t>(i)]);
    places_[cell] = validity_.find(places_[cell], level, codes_[cell]).value();
  }

  const Validity& validity_;
  Shape shape_;
  int32_t probes_;
  size_t cells_;
  std::vector<int32_t> parents_, codes_, live_, best_;
  std::vector<float> scores_;
  std::vector<Place> places_;
  std::vector<int64_t> numbers_;
  std::vector<uint64_t> bits_;
  std::vector<uint8_t> mask_;
  Pages<uint64_t> keys_;
  Candidates listed_;
};

class RandomNumbers final : public Method {
 public:
  explicit RandomNumbers(const Shape& shape)
      : slots_(shape.slots),
        numbers_(static_cast<size_t>(shape.beams)),
        bits_(static_cast<size_t>(shape.beams + sidbeam::cpu::kVectorSlack)) {
    std::iota(numbers_.begin(), numbers_.end(), 0);
  }
  void start() override {}
  void step(int32_t level, const Rows&) override {
    for (int32_t slot = 0; slot < slots_; ++slot)
      kernels().random_bits(kSeed, slot, numbers_.data(), level, static_cast<int32_t>(numbers_.size()), bits_.data());
  }
  BeamsView beams() const override { return {}; }

 private:
  int32_t slots_;
  std::vector<int64_t> numbers_;
  std::vector<uint64_t> bits_;
};

}  // namespace

std::unique_ptr<Method> make_draws_method(const Validity* validity, const Shape& shape, int32_t probes) {
  return std::make_unique<DrawsMethod>(validity, shape, probes);
}

std::unique_ptr<Method> make_random_numbers(const Shape& shape) { return std::make_unique<RandomNumbers>(shape); }

}  // namespace bench
