// What the machine can do with a buffer of logits, and what the log-sum-exp kernel achieves of that: read it once, copy
// it, sum its exponentials. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "baselines/normalizer.h"
#include "baselines/vectorised.h"
#include "logits.h"
#include "tables.h"

namespace bench {
namespace {

constexpr int64_t kRow = 2048;  // columns

using Vector = float __attribute__((vector_size(64)));
constexpr int64_t kLanes = 16, kSums = 8;  // as many sums as hide the latency of an addition

// n is a multiple of 128.
BENCH_VECTORISED float sum_of(const float* x, int64_t n) {
  constexpr int64_t kAhead = 512;  // floats; none, 1024 and four streams at once read less from memory
  Vector sums[kSums] = {};
  for (int64_t i = 0; i < n; i += kLanes * kSums) {
    for (int64_t s = 0; s < kSums; ++s) {
      Vector value;
      std::memcpy(&value, x + i + s * kLanes, sizeof value);
      __builtin_prefetch(x + i + s * kLanes + kAhead);
      sums[s] += value;
    }
  }
  float total = 0;
  for (const Vector& sum : sums)
    for (int64_t lane = 0; lane < kLanes; ++lane) total += sum[lane];
  return total;
}

// A pass over a buffer; a result that somebody could read.
using Pass = double (*)(const Rows& rows, char* copy);

double pass_sum(const Rows& rows, char*) {
  return static_cast<double>(sum_of(reinterpret_cast<const float*>(rows.ring), rows.ring_rows * rows.row_bytes() / 4));
}

// Reads half of the buffer and writes as much.
double pass_copy(const Rows& rows, char* copy) {
  std::memcpy(copy, rows.ring, static_cast<size_t>(rows.ring_rows * rows.row_bytes() / 2));
  return static_cast<double>(copy[0]);
}

double pass_lse(const Rows& rows, char*) {
  constexpr int64_t kTogether = sidbeam::cpu::kMostSummed;
  const void* data[kTogether + 1];
  Normalizer logs[kTogether];
  float total = 0;
  for (int64_t first = 0; first < rows.ring_rows; first += kTogether) {
    const int64_t count = std::min(kTogether, rows.ring_rows - first);
    for (int64_t r = 0; r <= count; ++r) data[r] = first + r < rows.ring_rows ? rows.row(0, first + r) : nullptr;
    kernels().log_sum_exp({{nullptr, rows.dtype}, data, static_cast<int32_t>(count), 0, rows.columns}, logs);
    total += logs[count - 1].ref;
  }
  return static_cast<double>(total);
}

struct Floor {
  const char* name;
  Pass pass;
  double share_of_bytes;  // of the buffer's, that count
  std::vector<double> gigabytes = {};
};

double take_pass(const Floor& floor, const Rows& rows, char* copy, int64_t repetitions) {
  static volatile double sink;
  const Clock::time_point begin = Clock::now();
  for (int64_t i = 0; i < repetitions; ++i) sink = floor.pass(rows, copy);
  const double us = microseconds(Clock::now() - begin);
  (void)sink;
  const auto bytes = static_cast<double>(rows.ring_rows * rows.row_bytes() * repetitions);
  return bytes * floor.share_of_bytes / us * 1e-3;
}

void run_floors(Context& context, Source source, int32_t dtype, int64_t step_rows) {
  Logits logits(source, 1, step_rows, kRow, 1, dtype);
  const Rows rows = logits.ring();
  Pages<char> copy(rows.ring_rows * rows.row_bytes() / 2);
  const double bytes = static_cast<double>(rows.ring_rows * rows.row_bytes());
  const auto repetitions = static_cast<int64_t>(std::clamp(1e8 / bytes, 1.0, context.options.quick ? 2.0 : 1e3));
  Floor floors[] = {{"sum", pass_sum, 1}, {"copy, read side", pass_copy, 0.5}, {"log-sum-exp", pass_lse, 1}};
  for (Floor& floor : floors) take_pass(floor, rows, copy.data(), 1);
  for (int64_t run = 0; run < (context.options.quick ? 2 : 15); ++run) {
    for (Floor& floor : floors) {
      take_pass(floors[0], rows, copy.data(), 1);  // else the log-sum-exp would pay for writing the copy's lines back
      floor.gigabytes.push_back(take_pass(floor, rows, copy.data(), repetitions));
    }
  }

  const char* type = dtype == SIDBEAM_DTYPE_F32 ? "f32" : dtype == SIDBEAM_DTYPE_F16 ? "f16" : "bf16";
  const Case where = {{"bytes", rows.ring_rows * rows.row_bytes()},
                      {"columns", kRow},
                      {"dtype", type},
                      {"rows", source == Source::kMemory ? "memory" : "hot"}};
  std::printf("\nfloors  %s\n", describe(where).c_str());
  const double sum = summarise(floors[0].gigabytes).median;
  TextTable table;
  table.row({"GB/s", "median", "p10", "p90", "of the sum's"});
  for (const Floor& floor : floors) {
    const Statistics value = summarise(floor.gigabytes);
    context.json.add({"floors", where, floor.name, "GB/s", value, ""});
    table.row({floor.name, figure(value.median), figure(value.p10), figure(value.p90), figure(value.median / sum)});
  }
  table.print();
  const double share = summarise(floors[2].gigabytes).median / sum;
  context.json.add({"floors", where, "log-sum-exp", "share of sum", exactly(share), ""});
}

}  // namespace

void floors_table(Context& context) {
  constexpr int64_t kCacheRows = (int64_t{1} << 20) / (kRow * 4);  // 1 MiB of f32
  for (const int32_t dtype : {SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_F16, SIDBEAM_DTYPE_BF16}) {
    run_floors(context, Source::kHot, dtype, kCacheRows);
    if (!context.options.quick) run_floors(context, Source::kMemory, dtype, kCacheRows);
  }
}

}  // namespace bench
