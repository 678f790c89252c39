// SPDX-License-Identifier: Apache-2.0
#include "runner/hidden/pairs.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace sidbeam::runner {
namespace {

// Hidden states read per product up to which columns are taken in chunks. In place it is one, but weights are fetched
// meanwhile, and not copied. (With 0.7 steps of 8192 columns of 256 inputs were an eighth slower.)
constexpr double kMostRead = 0.5;

// log2 of the columns of a chunk. In `chunks` chunks a row of n products reads its hidden state
// chunks * (1 - (1 - 1 / chunks)^n) times.
int32_t choose_shift(const PairLimits& limits, int64_t columns, double products) {
  const int64_t fit = limits.chunk_weights / std::min(limits.width, kDotBlock);
  const int64_t shared = (columns + limits.threads - 1) / limits.threads;
  int32_t shift = 0;
  while (int64_t{2} << shift <= fit && int64_t{1} << shift < shared) ++shift;
  const double chunks = std::max(1.0, static_cast<double>(columns) / static_cast<double>(int64_t{1} << shift));
  const double read = chunks * (1.0 - std::pow(1.0 - 1.0 / chunks, products)) / products;
  return read <= kMostRead ? shift : 0;
}

}  // namespace

int64_t second_level_floats() {
  constexpr int64_t kMost = 2 * kChunkWeights;
#ifdef _SC_LEVEL2_CACHE_SIZE
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);  // 0 where the system does not know it
#else
  const long bytes = 0;
#endif
  return bytes > 0 ? std::clamp<int64_t>(bytes / 4, kMost / 8, kMost) : kMost;
}

PairSorter::PairSorter(const Allocator& allocator, const PairLimits& limits)
    : limits_(limits),
      ranks_(allocator, limits.columns),
      columns_(allocator, std::min(limits.columns, limits.pairs) + 1),
      starts_(allocator, std::min(limits.columns, limits.pairs) + 2),
      pairs_(allocator, limits.pairs),
      packed_(allocator, limits.may_chunk(limits.rows) ? limits.threads * kChunkWeights : 0) {}

void PairSorter::begin() { std::fill(ranks_.begin(), ranks_.end(), 0); }

void PairSorter::count(const int32_t* columns, int64_t count) {
  for (int64_t i = 0; i < count; ++i) ++ranks_[columns[i]];
}

void PairSorter::place(int64_t rows) {
  int64_t columns = 0, pairs = 0;
  for (const int32_t n : ranks_) columns += n > 0 ? 1 : 0, pairs += n;
  const double products = static_cast<double>(pairs) / static_cast<double>(std::max<int64_t>(rows, 1));
  list_.column_count = columns;
  list_.chunk_shift = limits_.may_chunk(rows) ? choose_shift(limits_, columns, std::max(products, 1.0)) : 0;
  // Without branches on what has pairs: it looks random.
  const int32_t shift = list_.chunk_shift, last = (1 << shift) - 1, next = shift > 0 ? 1 : 0;
  int32_t rank = 0, at = 0;
  starts_[0] = 0;
  for (int32_t column = 0; column < ranks_.size(); ++column) {
    const int32_t n = ranks_[column];
    columns_[rank] = column;
    if ((rank & last) == 0) starts_[(rank >> shift) + next] = at;
    ranks_[column] = shift > 0 ? rank : at;
    rank += n > 0 ? 1 : 0;
    at += n;
  }
  if (shift == 0) starts_[rank] = at;
  list_.columns = columns_.data();
  list_.starts = starts_.data();
  list_.pairs = pairs_.data();
  list_.packed = packed_.data();
}

void PairSorter::add(int32_t row, const int32_t* columns, int64_t count, int64_t first_value) {
  const auto first = static_cast<int32_t>(first_value), n = static_cast<int32_t>(count);
  if (list_.chunk_shift == 0) {
    for (int32_t i = 0; i < n; ++i) pairs_[ranks_[columns[i]]++] = {row, 0, first + i};
    return;
  }
  for (int32_t i = 0; i < n; ++i) {
    const int32_t rank = ranks_[columns[i]];
    pairs_[starts_[(rank >> list_.chunk_shift) + 1]++] = {row, rank, first + i};
  }
}

}  // namespace sidbeam::runner
