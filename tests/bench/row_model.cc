// SPDX-License-Identifier: Apache-2.0
#include "row_model.h"

#include <algorithm>
#include <cmath>

#include "baselines/normalizer.h"
#include "mix.h"

namespace bench {
namespace {

double log_sum_exp(const float* x, int64_t n) {
  sidbeam::PartialSum sum;
  kernels().sum_exp({x, SIDBEAM_DTYPE_F32, 1.0F, 0.0F, x}, n, nullptr, sum);
  return sidbeam::reference(sum) + std::log(sum.sum);
}

}  // namespace

RowModel::RowModel(const Catalogue& catalogue, const Shape& shape)
    : catalogue_(catalogue),
      shape_(shape),
      ranges_(static_cast<size_t>(shape.slots) * static_cast<size_t>(shape.beams)),
      next_(ranges_.size()) {}

void RowModel::start() {
  level_ = 0;
  std::fill(ranges_.begin(), ranges_.end(), Range{});
  for (size_t slot = 0; slot < ranges_.size(); slot += static_cast<size_t>(shape_.beams))
    ranges_[slot] = {0, catalogue_.sids};
}

void RowModel::before(const Rows& rows) {
  const auto beams = static_cast<size_t>(shape_.beams);
  for (size_t i = 0; i < ranges_.size(); ++i) {
    if (ranges_[i].empty()) continue;
    const void* row = rows.row(static_cast<int64_t>(i / beams), static_cast<int64_t>(i % beams));
    write(const_cast<float*>(static_cast<const float*>(row)), level_, ranges_[i]);
  }
}

void RowModel::after(const BeamsView& beams) {
  restore();
  const auto width = static_cast<size_t>(shape_.beams);
  for (size_t i = 0; i < ranges_.size(); ++i) {
    const bool dead = beams.parents[i] < 0 || beams.codes[i] < 0;
    const size_t parent = dead ? 0 : i / width * width + static_cast<size_t>(beams.parents[i]);
    next_[i] = dead ? Range{} : child(ranges_[parent], beams.codes[i]);
  }
  ranges_.swap(next_);
  ++level_;
}

RowModel::Range RowModel::child(const Range& range, int32_t code) const {
  if (catalogue_.ends && code == catalogue_.codes - 1) return {};
  const auto first_from = [&](int64_t low, int32_t least) {
    int64_t high = range.high;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (catalogue_.sid(middle)[level_] < least) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  };
  const int64_t low = first_from(range.low, code);
  return {low, first_from(low, code + 1)};
}

// The first level's are kept: a vocabulary of text has tens of thousands.
const std::vector<int32_t>& LearnedRows::children(int32_t level, const Range& range) {
  if (level == 0 && !first_codes_.empty()) return first_codes_;
  codes_.clear();
  for (int64_t at = range.low; at < range.high;) {
    const int32_t code = catalogue_.sid(at)[level];
    codes_.push_back(code);
    int64_t step = 1;  // gallops past the rows of the same code
    while (at + step < range.high && catalogue_.sid(at + step)[level] == code) step *= 2;
    int64_t low = at + step / 2, high = std::min(at + step, range.high);
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (catalogue_.sid(middle)[level] == code) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    at = low;
  }
  return level == 0 ? first_codes_ = codes_ : codes_;
}

void LearnedRows::write(float* row, int32_t level, const Range& range) {
  Raised raised{row, children(level, range), {}};
  if (std::ssize(raised.codes) == shape_.codes) return;
  for (const int32_t code : raised.codes) raised.before.push_back(row[code]);
  const double all = log_sum_exp(row, shape_.codes);
  const double valid = log_sum_exp(raised.before.data(), std::ssize(raised.before));
  const double other = all + std::log1p(-std::exp(std::min(valid - all, -1e-9)));
  const uint64_t hash = mix(static_cast<uint64_t>(range.low) * 64 + static_cast<uint64_t>(level));
  const double mass = 0.8 + 0.2 * static_cast<double>(hash >> 11) * 0x1p-53;
  const auto by = static_cast<float>(std::log(mass / (1 - mass)) + other - valid);
  for (const int32_t code : raised.codes) row[code] += by;
  raised_.push_back(std::move(raised));
}

std::unique_ptr<RowModel> make_learned_rows(const Catalogue& catalogue, const Shape& shape) {
  return std::make_unique<LearnedRows>(catalogue, shape);
}

void LearnedRows::restore() {
  for (const Raised& raised : raised_)
    for (size_t i = 0; i < raised.codes.size(); ++i) raised.row[raised.codes[i]] = raised.before[i];
  raised_.clear();
}

}  // namespace bench
