// SPDX-License-Identifier: Apache-2.0
#include "probe_method.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "vectorised.h"

namespace bench {
namespace {

BENCH_VECTORISED void write_column_keys(const float* x, int64_t n, uint64_t* keys) {
  for (int64_t i = 0; i < n; ++i) keys[i] = key_of(x[i], static_cast<uint32_t>(i));
}

class ProbeMethod final : public Method {
 public:
  ProbeMethod(const Validity* validity, const Shape& shape, int32_t probes)
      : validity_(*validity),
        shape_(shape),
        probes_(std::min(probes, shape.codes)),
        beams_(shape),
        rows_(shape),
        columns_(shape.codes),
        keys_(int64_t{shape.beams} * probes_),
        best_(static_cast<size_t>(shape.beams)) {
    if (shape.columns != shape.codes) throw std::invalid_argument("probe: rows are of the level's codes");
  }

  void start() override { beams_.start(validity_.root()); }

  void step(int32_t level, const Rows& rows) override {
    for (int32_t slot = 0; slot < shape_.slots; ++slot) {
      int64_t found = 0;
      for (int32_t m = 0; m < beams_.live(slot); ++m) found += probe_row(rows, slot, m, level, keys_.data() + found);
      const int32_t count = take_best(keys_.data(), found, shape_.beams, shape_.codes, best_.data());
      beams_.replace(slot, best_.data(), count, [&](Place place, const Candidate& candidate) {
        return validity_.find(place, level, static_cast<int32_t>(candidate.column)).value();
      });
    }
  }

  BeamsView beams() const override { return beams_.view(); }

 private:
  // Keys of the valid ones among the row's best; returns how many.
  int64_t probe_row(const Rows& rows, int32_t slot, int32_t m, int32_t level, uint64_t* keys) {
    const RowScale scale = scale_of(beams_.scores(slot)[m], normalizer_of(rows, shape_, slot, m));
    const float* x = rows_.row(rows, slot, m);
    write_column_keys(x, shape_.codes, columns_.data());
    uint64_t *first = columns_.data(), *kth = first + probes_, *last = first + shape_.codes;
    if (kth != last) std::nth_element(first, kth, last, std::greater<>());
    int64_t found = 0;
    for (const uint64_t* column = first; column != kth; ++column) {
      const uint32_t code = place_of(*column);
      if (!validity_.find(beams_.places(slot)[m], level, static_cast<int32_t>(code))) continue;
      keys[found++] = key_of(score_of(scale, x[code]), static_cast<uint32_t>(int64_t{m} * shape_.codes) + code);
    }
    return found;
  }

  const Validity& validity_;
  Shape shape_;
  int32_t probes_;
  Beams beams_;
  FloatRows rows_;
  Pages<uint64_t> columns_, keys_;
  std::vector<Candidate> best_;
};

}  // namespace

std::unique_ptr<Method> make_probe_method(const Validity* validity, const Shape& shape, int32_t probes) {
  return std::make_unique<ProbeMethod>(validity, shape, probes);
}

}  // namespace bench
