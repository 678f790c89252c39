// The beams of a baseline, and how a step replaces them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "method.h"
#include "selector.h"
#include "validity.h"

namespace bench {

class Beams {
 public:
  explicit Beams(const Shape& shape)
      : beams_(shape.beams),
        parents_(cells(shape)),
        tokens_(cells(shape)),
        scores_(cells(shape)),
        places_(cells(shape)),
        before_(static_cast<size_t>(shape.beams)),
        live_(static_cast<size_t>(shape.slots)) {}

  void start(Place root) {
    for (size_t slot = 0; slot < live_.size(); ++slot) {
      const size_t first = slot * static_cast<size_t>(beams_);
      scores_[first] = 0;
      places_[first] = root;
      live_[slot] = 1;
    }
  }

  int32_t live(int32_t slot) const { return live_[static_cast<size_t>(slot)]; }
  const float* scores(int32_t slot) const { return scores_.data() + int64_t{slot} * beams_; }
  const Place* places(int32_t slot) const { return places_.data() + int64_t{slot} * beams_; }

  // Takes `count` candidates, whose columns are codes, as the slot's beams; next(place, candidate) is where one leads.
  template <typename Next>
  void replace(int32_t slot, const Candidate* best, int32_t count, Next next) {
    const int64_t first = int64_t{slot} * beams_;
    before_.assign(places(slot), places(slot) + beams_);
    for (int32_t m = 0; m < count; ++m) {
      parents_.data()[first + m] = best[m].beam;
      tokens_.data()[first + m] = static_cast<int32_t>(best[m].column);
      scores_.data()[first + m] = best[m].score;
      places_.data()[first + m] = next(before_.data()[best[m].beam], best[m]);
    }
    live_[static_cast<size_t>(slot)] = count;
  }

  BeamsView view() const { return {parents_.data(), tokens_.data(), scores_.data(), live_.data()}; }

 private:
  static size_t cells(const Shape& shape) {
    return static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams);
  }

  int32_t beams_;
  std::vector<int32_t> parents_, tokens_;
  std::vector<float> scores_;
  std::vector<Place> places_, before_;
  std::vector<int32_t> live_;
};

// Rows as floats, whatever they are stored as.
class FloatRows {
 public:
  explicit FloatRows(const Shape& shape)
      : scratch_(shape.dtype == SIDBEAM_DTYPE_F32 ? 0 : shape.columns + sidbeam::cpu::kVectorSlack) {}

  const float* row(const Rows& rows, int64_t slot, int64_t beam) {
    const void* row = rows.row(slot, beam);
    if (rows.dtype == SIDBEAM_DTYPE_F32) return static_cast<const float*>(row);
    kernels().load({row, rows.dtype, 1.0F, 0.0F}, 0, rows.columns, scratch_.data());
    return scratch_.data();
  }

 private:
  Pages<float> scratch_;
};

}  // namespace bench
