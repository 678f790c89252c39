// What the tests of the runner's arithmetic share. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "runner/math/view.h"
#include "runner/math/workers.h"

namespace sidbeam::runner {

// Runs tasks on the caller's thread, the last first: what they do to one another shows.
class BackwardExecutor final : public Executor {
 public:
  explicit BackwardExecutor(int32_t width) : width_(width) {}
  int32_t width() const override { return width_; }
  void run(int32_t count, TaskFunction task, void* data) override {
    for (int32_t i = count - 1; i >= 0; --i) task(data, i);
  }

 private:
  int32_t width_;
};

// Rows with room between them that nobody may write.
class Floats2d {
 public:
  static constexpr float kUntouched = 12345.0F;

  Floats2d(int64_t rows, int64_t columns, int64_t gap = 0)
      : rows_(rows),
        columns_(columns),
        stride_(columns + gap),
        values_(static_cast<size_t>(rows * stride_ + 1), kUntouched) {}

  static Floats2d drawn(std::mt19937_64& random, int64_t rows, int64_t columns, int64_t gap = 0, float scale = 1.0F) {
    Floats2d drawn(rows, columns, gap);
    std::normal_distribution<float> normal(0.0F, scale);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t c = 0; c < columns; ++c) drawn.at(r, c) = normal(random);
    return drawn;
  }

  float& at(int64_t row, int64_t column) { return values_[static_cast<size_t>(row * stride_ + column)]; }
  float at(int64_t row, int64_t column) const { return values_[static_cast<size_t>(row * stride_ + column)]; }
  float* data() { return values_.data(); }
  Rows rows() { return {values_.data(), rows_, columns_, stride_}; }
  ConstRows first(int64_t n) const { return {values_.data(), n, columns_, stride_}; }
  ConstRows all() const { return first(rows_); }
  int64_t count() const { return rows_; }
  int64_t columns() const { return columns_; }

  // Bit for bit, with what lies between the rows.
  bool operator==(const Floats2d& other) const {
    return values_.size() == other.values_.size() &&
           std::memcmp(values_.data(), other.values_.data(), values_.size() * sizeof(float)) == 0;
  }

 private:
  int64_t rows_, columns_, stride_;
  std::vector<float> values_;
};

// Calls check(workers) for every target of this machine, alone and with several widths of executor.
template <class Check>
void on_all_workers(const Check& check) {
  BackwardExecutor two(2), three(3), many(16);
  for (const CpuTarget target : kCpuTargets) {
    if (!has_cpu_target(target)) continue;
    for (Executor* executor : {static_cast<Executor*>(nullptr), static_cast<Executor*>(&two),
                               static_cast<Executor*>(&three), static_cast<Executor*>(&many)}) {
      const Workers workers{target, executor};
      SCOPED_TRACE(::testing::Message() << cpu_target_name(target) << ", " << workers.width() << " threads");
      check(workers);
    }
  }
}

}  // namespace sidbeam::runner
