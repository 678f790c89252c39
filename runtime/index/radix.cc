// LSD, since real SIDs cluster: the buckets of an MSD sort would be of very unequal size. Each thread scatters through
// a cache line a bucket and writes whole lines past the cache, so that 2048 open pages do not thrash the TLB
// (research: performance, section 4).
// SPDX-License-Identifier: Apache-2.0
#include "index/radix.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "support/parallel.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sidbeam {
namespace {

constexpr int64_t kBuckets = 1 << kDigitBits;
constexpr int64_t kLine = 64 / sizeof(Record);  // records of a cache line
constexpr int64_t kBlock = int64_t{1} << 20;    // records between two reports of progress

struct Digit {
  int shift, bits;
  uint64_t of(uint64_t key) const { return key >> shift & ((uint64_t{1} << bits) - 1); }
};

struct alignas(64) Lines {
  Record line[kBuckets][kLine];
  int64_t next[kBuckets];   // where the next record of a bucket goes
  int64_t first[kBuckets];  // where this slice's records of a bucket begin
};

static_assert(sizeof(Lines) == kRadixBytesPerThread);

struct Slices {
  int64_t count, records;
  int64_t begin(int64_t slice) const { return records / count * slice + std::min(slice, records % count); }
  int64_t end(int64_t slice) const { return begin(slice + 1); }
};

void store_line(Record* to, const Record* line) {
#ifdef __SSE2__
  auto* out = reinterpret_cast<__m128i*>(to);
  const auto* in = reinterpret_cast<const __m128i*>(line);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(out + i, _mm_load_si128(in + i));
#else
  std::copy(line, line + kLine, to);
#endif
}

void flush(Lines& lines, uint64_t bucket, Record* out) {
  const int64_t end = lines.next[bucket], line_begin = (end - 1) & ~(kLine - 1);
  const int64_t begin = std::max(line_begin, lines.first[bucket]);
  if (end - begin == kLine) {
    store_line(out + begin, lines.line[bucket]);
  } else {
    std::copy(lines.line[bucket] + (begin - line_begin), lines.line[bucket] + (end - line_begin), out + begin);
  }
}

// Moves in[begin, end) to their buckets; lines.next says where these continue.
void scatter(const Record* in, int64_t begin, int64_t end, Digit digit, Lines& lines, Record* out, Progress& progress) {
  std::copy(lines.next, lines.next + kBuckets, lines.first);
  for (int64_t block = begin; block < end; block += kBlock) {
    const int64_t block_end = std::min(end, block + kBlock);
    for (int64_t i = block; i < block_end; ++i) {
      const uint64_t bucket = digit.of(in[i].key);
      const int64_t to = lines.next[bucket]++;
      lines.line[bucket][to & (kLine - 1)] = in[i];
      if ((to & (kLine - 1)) == kLine - 1) flush(lines, bucket, out);
    }
    progress.advance(block_end - block);
  }
  for (uint64_t bucket = 0; bucket < kBuckets; ++bucket) {
    if ((lines.next[bucket] & (kLine - 1)) != 0 && lines.next[bucket] > lines.first[bucket]) flush(lines, bucket, out);
  }
#ifdef __SSE2__
  _mm_sfence();
#endif
}

struct Survey {
  bool sorted = true;
  uint64_t ones = 0, zeros = 0;  // bits that are 1, and that are 0, in some key
};

Survey survey(const Buffer<Record>& records, Slices slices, int threads, Progress& progress) {
  std::vector<Survey> by_slice(static_cast<size_t>(slices.count));
  parallel_for(threads, slices.count, [&](int64_t slice) {
    Survey found;
    uint64_t before = slice == 0 ? 0 : records[slices.begin(slice) - 1].key;
    for (int64_t i = slices.begin(slice), end = slices.end(slice); i < end; ++i) {
      if (i % kBlock == 0) progress.advance(0);
      const uint64_t key = records[i].key;
      found.sorted &= before <= key;
      found.ones |= key;
      found.zeros |= ~key;
      before = key;
    }
    by_slice[static_cast<size_t>(slice)] = found;
  });
  Survey all;
  for (const Survey& found : by_slice) {
    all.sorted &= found.sorted;
    all.ones |= found.ones;
    all.zeros |= found.zeros;
  }
  return all;
}

// Counts each slice's digits and turns the counts into the places where the slices' buckets begin.
void place_buckets(const Record* in, Slices slices, Digit digit, int threads, Buffer<Lines>& lines,
                   Progress& progress) {
  parallel_for(threads, slices.count, [&](int64_t slice) {
    int64_t* counts = lines[slice].next;
    std::fill(counts, counts + kBuckets, 0);
    for (int64_t i = slices.begin(slice), end = slices.end(slice); i < end; ++i) {
      if (i % kBlock == 0) progress.advance(0);
      ++counts[digit.of(in[i].key)];
    }
  });
  int64_t sum = 0;
  for (int64_t bucket = 0; bucket < kBuckets; ++bucket) {
    for (Lines& slice : lines) sum += std::exchange(slice.next[bucket], sum);
  }
}

}  // namespace

void radix_sort(Buffer<Record>& records, Buffer<Record>& spare, int bits, int threads, const Allocator& allocator,
                Progress& progress) {
  const int64_t count = records.size();
  const Slices slices{std::clamp<int64_t>(count / (kBlock / 8), 1, threads), count};
  const Survey found = survey(records, slices, threads, progress);
  const int passes = radix_passes(bits);
  if (found.sorted) return progress.advance(count * passes);
  Buffer<Lines> lines(allocator, slices.count);
  // Digits as even as they can be: fewer buckets are kinder to the caches.
  for (int pass = 0, shift = 0; pass < passes; ++pass) {
    const Digit digit{shift, (bits - shift + passes - pass - 1) / (passes - pass)};
    shift += digit.bits;
    if (digit.of(found.ones & found.zeros) == 0) {
      progress.advance(count);
      continue;
    }
    place_buckets(records.data(), slices, digit, threads, lines, progress);
    parallel_for(threads, slices.count, [&](int64_t slice) {
      scatter(records.data(), slices.begin(slice), slices.end(slice), digit, lines[slice], spare.data(), progress);
    });
    std::swap(records, spare);
  }
}

}  // namespace sidbeam
