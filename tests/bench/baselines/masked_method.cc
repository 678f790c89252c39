// SPDX-License-Identifier: Apache-2.0
#include "masked_method.h"

#include <algorithm>

namespace bench {
namespace {

// The mask and the selection cover the columns of the normalisation: those of the level, or the whole row. Without a
// mask only the level's codes can be selected.
bool takes_slice(const Validity* validity, const Shape& shape) {
  return validity == nullptr || shape.normalization == SIDBEAM_NORMALIZE_LEVEL;
}

class MaskedMethod final : public Method {
 public:
  MaskedMethod(const Validity* validity, const Shape& shape, MakeSelector make_selector)
      : validity_(validity),
        shape_(shape),
        first_(takes_slice(validity, shape) ? shape.offset : 0),
        width_(takes_slice(validity, shape) ? shape.codes : shape.columns),
        beams_(shape),
        rows_(shape),
        selector_(make_selector(shape.beams, width_)),
        mask_(static_cast<size_t>(width_)),
        best_(static_cast<size_t>(shape.beams)) {}

  void start() override { beams_.start(validity_ != nullptr ? validity_->root() : 0); }

  void step(int32_t level, const Rows& rows) override {
    for (int32_t slot = 0; slot < shape_.slots; ++slot) {
      selector_->begin();
      for (int32_t m = 0; m < beams_.live(slot); ++m) add_row(rows, slot, m, level);
      take(slot, level, selector_->finish(best_.data()));
    }
  }

  BeamsView beams() const override { return beams_.view(); }

 private:
  void add_row(const Rows& rows, int32_t slot, int32_t m, int32_t level) {
    const RowScale scale = scale_of(beams_.scores(slot)[m], normalizer_of(rows, shape_, slot, m));
    if (validity_ != nullptr) {
      std::fill(mask_.begin(), mask_.end(), uint8_t{0});
      validity_->mask(beams_.places(slot)[m], level, mask_.data() + shape_.offset - first_);
    }
    selector_->add(m, scale, rows_.row(rows, slot, m) + first_, validity_ != nullptr ? mask_.data() : nullptr);
  }

  void take(int32_t slot, int32_t level, int32_t count) {
    for (int32_t m = 0; m < count; ++m) best_.data()[m].column += first_ - shape_.offset;
    beams_.replace(slot, best_.data(), count, [&](Place place, const Candidate& candidate) {
      return validity_ == nullptr ? 0 : validity_->find(place, level, static_cast<int32_t>(candidate.column)).value();
    });
  }

  const Validity* validity_;
  Shape shape_;
  int64_t first_, width_;
  Beams beams_;
  FloatRows rows_;
  std::unique_ptr<Selector> selector_;
  std::vector<uint8_t> mask_;
  std::vector<Candidate> best_;
};

}  // namespace

std::unique_ptr<Method> make_masked_method(const Validity* validity, const Shape& shape, MakeSelector make_selector) {
  return std::make_unique<MaskedMethod>(validity, shape, make_selector);
}

}  // namespace bench
