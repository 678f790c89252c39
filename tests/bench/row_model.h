// Rows of a model that knows the catalogue: they depend on what each draw has chosen so far, and are written before a
// step, which is not timed. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "catalogue.h"
#include "method.h"

namespace bench {

class RowModel {
 public:
  RowModel(const Catalogue& catalogue, const Shape& shape);
  RowModel(const RowModel&) = delete;
  RowModel& operator=(const RowModel&) = delete;
  virtual ~RowModel() = default;

  void start();
  // Before and after a step of a method.
  void before(const Rows& rows);
  void after(const BeamsView& beams);

 protected:
  // SIDs [low, high) begin with the prefix; none: it is no prefix, or has ended.
  struct Range {
    int64_t low = 0, high = 0;
    bool empty() const { return low >= high; }
  };
  // The rows belong to the benchmark, so that they may be written.
  virtual void write(float* row, int32_t level, const Range& range) = 0;
  virtual void restore() {}

  const Catalogue& catalogue_;
  Shape shape_;

 private:
  Range child(const Range& range, int32_t code) const;
  int32_t level_ = 0;
  std::vector<Range> ranges_, next_;  // [slots, beams]
};

using MakeRows = std::unique_ptr<RowModel> (*)(const Catalogue& catalogue, const Shape& shape);

// A drawn row whose valid codes are raised until they have a mass between 0.8 and 1, which the prefix decides: 0.9 on
// average.
class LearnedRows final : public RowModel {
 public:
  LearnedRows(const Catalogue& catalogue, const Shape& shape) : RowModel(catalogue, shape) {}

 private:
  void write(float* row, int32_t level, const Range& range) override;
  void restore() override;
  const std::vector<int32_t>& children(int32_t level, const Range& range);

  struct Raised {
    float* row;
    std::vector<int32_t> codes;
    std::vector<float> before;
  };
  std::vector<Raised> raised_;
  std::vector<int32_t> first_codes_, codes_;
};
std::unique_ptr<RowModel> make_learned_rows(const Catalogue& catalogue, const Shape& shape);

}  // namespace bench
