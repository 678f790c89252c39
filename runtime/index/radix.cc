// Apart by the highest digit, until a part fits a core's cache; then each part by itself, by no more bits than tell its
// records apart. One trip through memory, where LSD takes one for every 11 bits. Real SIDs cluster: a part that is still
// too large is taken apart again, by all threads.
//
// To take apart, each thread scatters through a cache line a bucket and writes whole lines past the cache, so that 4096
// open pages do not thrash the TLB (research: performance, section 4).
// SPDX-License-Identifier: Apache-2.0
#include "index/radix.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "support/parallel.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sidbeam {
namespace {

constexpr int kMostBits = 12;                    // of a digit that takes apart
constexpr int64_t kBuckets = 1 << kMostBits;
constexpr int64_t kLargestPart = int64_t{1} << 16;   // records: they and as much scratch fit a core's own cache
constexpr int64_t kUsualPart = int64_t{1} << 14;
constexpr int64_t kLine = 64 / sizeof(Record);   // records of a cache line
constexpr int64_t kBlock = int64_t{1} << 18;     // records between two reports of progress
constexpr int64_t kParallel = int64_t{1} << 17;  // fewer records are not worth another thread

int bits_of(int64_t count) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(count))); }

// Records [begin, end) with all words before `word` alike; in that word they differ in key - base < 2^bits only. The key
// of the records is that word.
struct Range {
  int64_t begin, end;
  int word, bits;
  uint64_t base;
  int64_t size() const { return end - begin; }
};

struct Digit {
  uint64_t base;
  int shift, bits;
  uint64_t of(uint64_t key) const { return (key - base) >> shift & ((uint64_t{1} << bits) - 1); }
};

struct alignas(64) Lines {
  Record line[kBuckets][kLine];
  int64_t next[kBuckets];   // where the next record of a bucket goes
  int64_t first[kBuckets];  // where this slice's records of a bucket begin
};

struct Workspace {
  Lines lines;
  Record scratch[kLargestPart];
};

struct Slices {
  int64_t count, first, records;
  int64_t begin(int64_t slice) const { return first + records / count * slice + std::min(slice, records % count); }
  int64_t end(int64_t slice) const { return begin(slice + 1); }
};

// What is taken apart: the words of the catalogue, or records.
struct Words {
  const ChunkedArray<uint64_t>& words;
  using Element = uint64_t;
  int64_t run(int64_t i) const { return words.run(i); }
  const uint64_t* at(int64_t i) const { return &words[i]; }
  static uint64_t key(uint64_t word) { return word; }
  static Record record(uint64_t word, int64_t i) { return {word, static_cast<uint64_t>(i)}; }
};
struct Records {
  const Record* records;
  int64_t first;  // number of the first of them
  using Element = Record;
  static int64_t run(int64_t) { return kBlock; }
  const Record* at(int64_t i) const { return records + (i - first); }
  static uint64_t key(const Record& record) { return record.key; }
  static Record record(const Record& record, int64_t) { return record; }
};

// Calls body(elements, i, count) for pieces of [begin, end).
template <class Source, class Body>
void by_pieces(const Source& source, int64_t begin, int64_t end, Body&& body) {
  for (int64_t i = begin, piece = 0; i < end; i += piece) {
    piece = std::min({end - i, source.run(i), kBlock});
    body(source.at(i), i, piece);
  }
}

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

// Moves a slice to its buckets; lines.next says where these continue.
template <class Source>
void scatter(const Source& source, int64_t begin, int64_t end, Digit digit, Lines& lines, Record* out,
             Progress& progress) {
  const int64_t buckets = int64_t{1} << digit.bits;
  std::copy(lines.next, lines.next + buckets, lines.first);
  by_pieces(source, begin, end, [&](const typename Source::Element* in, int64_t row, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t bucket = digit.of(Source::key(in[i]));
      const int64_t to = lines.next[bucket]++;
      lines.line[bucket][to & (kLine - 1)] = Source::record(in[i], row + i);
      if ((to & (kLine - 1)) == kLine - 1) flush(lines, bucket, out);
    }
    progress.advance(0);
  });
  for (uint64_t bucket = 0; bucket < static_cast<uint64_t>(buckets); ++bucket) {
    if ((lines.next[bucket] & (kLine - 1)) != 0 && lines.next[bucket] > lines.first[bucket]) flush(lines, bucket, out);
  }
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// Takes `source` apart into records [range.begin, range.end). Returns where the buckets begin, and the end.
template <class Source>
std::vector<int64_t> take_apart(const Source& source, const Range& range, Digit digit, int threads,
                                Buffer<Workspace>& work, Record* records, Progress& progress) {
  const Slices slices{std::clamp<int64_t>(range.size() / kParallel, 1, std::min<int64_t>(threads, work.size())),
                      range.begin, range.size()};
  parallel_for(threads, slices.count, [&](int64_t slice) {
    int64_t* counts = work[slice].lines.next;
    std::fill(counts, counts + (int64_t{1} << digit.bits), 0);
    by_pieces(source, slices.begin(slice), slices.end(slice),
              [&](const typename Source::Element* in, int64_t, int64_t count) {
                for (int64_t i = 0; i < count; ++i) ++counts[digit.of(Source::key(in[i]))];
                progress.advance(0);
              });
  });
  std::vector<int64_t> begins;
  int64_t sum = range.begin;
  for (int64_t bucket = 0; bucket < int64_t{1} << digit.bits; ++bucket) {
    begins.push_back(sum);
    for (int64_t slice = 0; slice < slices.count; ++slice)
      sum += std::exchange(work[slice].lines.next[bucket], sum);
  }
  begins.push_back(sum);
  parallel_for(threads, slices.count, [&](int64_t slice) {
    scatter(source, slices.begin(slice), slices.end(slice), digit, work[slice].lines, records, progress);
  });
  return begins;
}

// The digit that takes a range apart, into parts of the usual size if its records are spread evenly.
Digit highest_digit(const Range& range) {
  const int enough = bits_of(range.size() / (kUsualPart / 2));
  const int bits = std::min(std::clamp(enough, 1, kMostBits), range.bits);
  return {range.base, range.bits - bits, bits};
}

// Ranges of neighbouring buckets: as many as make a part, or one that is too large for it.
void add_ranges(const Range& range, Digit digit, const std::vector<int64_t>& begins, std::vector<Range>& out) {
  const int64_t buckets = int64_t{1} << digit.bits;
  for (int64_t first = 0, last = 0; first < buckets; first = last) {
    last = first + 1;
    while (last < buckets && begins[static_cast<size_t>(last) + 1] - begins[static_cast<size_t>(first)] <= kUsualPart)
      ++last;
    const Range part{begins[static_cast<size_t>(first)], begins[static_cast<size_t>(last)], range.word,
                     digit.shift + bits_of(last - first - 1),
                     range.base + (static_cast<uint64_t>(first) << digit.shift)};
    if (part.size() > 0) out.push_back(part);
  }
}

// Sorts small ranges, on one thread.
struct SmallSort {
  const Catalogue& catalogue;
  Record* scratch;

  static constexpr int64_t kInsertion = 16;
  static constexpr int kDigitBits = 10;  // two digits a call; more buckets than this would leave the first-level cache

  void load_word(Record* records, int64_t count, int word) const {
    const auto& words = catalogue.words[static_cast<size_t>(word)];
    for (int64_t i = 0; i < count; ++i) records[i].key = words[static_cast<int64_t>(records[i].row)];
  }

  void sort(Record* records, int64_t count, int word, int bits, uint64_t base) const {
    if (count < 2) return;
    if (bits == 0) return sort_next_word(records, count, word);
    int low = 0;
    if (count <= kInsertion) {
      insert(records, count);
    } else {
      const int most = bits_of(count) + 2, sorted = std::min({bits, most, 2 * kDigitBits});
      low = bits - sorted;
      sort_digits(records, count, base, low, sorted);
    }
    if (low == 0 && word + 1 == catalogue.layout.words) return;
    sort_runs(records, count, word, base, low);
  }

 private:
  static void insert(Record* records, int64_t count) {
    for (int64_t i = 1; i < count; ++i) {
      const Record record = records[i];
      int64_t to = i;
      for (; to > 0 && record.key < records[to - 1].key; --to) records[to] = records[to - 1];
      records[to] = record;
    }
  }

  // By bits [low, low + bits) of key - base, which are its highest.
  void sort_digits(Record* records, int64_t count, uint64_t base, int low, int bits) const {
    const Digit first{base, low, bits / 2}, second{base, low + bits / 2, bits - bits / 2};
    uint32_t first_place[1 << kDigitBits] = {}, second_place[1 << kDigitBits] = {};
    for (int64_t i = 0; i < count; ++i) {
      ++first_place[first.of(records[i].key)];
      ++second_place[second.of(records[i].key)];
    }
    to_places(first_place, first.bits);
    to_places(second_place, second.bits);
    for (int64_t i = 0; i < count; ++i) scratch[first_place[first.of(records[i].key)]++] = records[i];
    for (int64_t i = 0; i < count; ++i) records[second_place[second.of(scratch[i].key)]++] = scratch[i];
  }

  static void to_places(uint32_t* counts, int bits) {
    uint32_t sum = 0;
    for (int i = 0; i < 1 << bits; ++i) sum += std::exchange(counts[i], sum);
  }

  // Runs that are alike but for the lowest bits of this word and the words after it.
  void sort_runs(Record* records, int64_t count, int word, uint64_t base, int low) const {
    for (int64_t begin = 0, end = 0; begin < count; begin = end) {
      const uint64_t prefix = (records[begin].key - base) >> low;
      end = begin + 1;
      while (end < count && (records[end].key - base) >> low == prefix) ++end;
      if (end - begin > 1) sort(records + begin, end - begin, word, low, base + (prefix << low));
    }
  }

  void sort_next_word(Record* records, int64_t count, int word) const {
    const uint64_t key = records[0].key;
    if (word + 1 == catalogue.layout.words) return;
    load_word(records, count, word + 1);
    sort(records, count, word + 1, catalogue.layout.word_bits[word + 1], 0);
    for (int64_t i = 0; i < count; ++i) records[i].key = key;
  }
};

// Everything that a sort works with.
struct Sort {
  const Catalogue& catalogue;
  int threads;
  Buffer<Workspace> work;
  Record* records;
  Progress& progress;
  std::vector<Range> small;

  // Takes apart what is too large; all of one SID stays so.
  void split(std::vector<Range> ranges) {
    Buffer<Record> spare;
    while (!ranges.empty()) {
      Range range = ranges.back();
      ranges.pop_back();
      const bool last_word = range.word + 1 == catalogue.layout.words;
      if (range.size() <= kLargestPart || (range.bits == 0 && last_word)) {
        small.push_back(range);
        continue;
      }
      if (range.bits == 0) range = next_word(range);
      if (spare.size() < range.size()) {
        spare = {};
        spare = large_buffer<Record>(catalogue.allocator, range.size());
      }
      copy_to(spare.data(), range);
      const Digit digit = highest_digit(range);
      add_ranges(range, digit,
                 take_apart(Records{spare.data(), range.begin}, range, digit, threads, work, records, progress),
                 ranges);
    }
  }

  Range next_word(Range range) {
    ++range.word;
    range.bits = catalogue.layout.word_bits[range.word];
    range.base = 0;
    by_blocks(range, [&](int64_t begin, int64_t end) {
      SmallSort{catalogue, nullptr}.load_word(records + begin, end - begin, range.word);
    });
    return range;
  }

  void copy_to(Record* spare, const Range& range) {
    by_blocks(range, [&](int64_t begin, int64_t end) { std::copy(records + begin, records + end, spare + (begin - range.begin)); });
  }

  template <class Body>
  void by_blocks(const Range& range, Body&& body) {
    parallel_for(threads, (range.size() + kBlock - 1) / kBlock, [&](int64_t block) {
      const int64_t begin = range.begin + block * kBlock;
      body(begin, std::min(range.end, begin + kBlock));
      progress.advance(0);
    });
  }

  // Sorts the small ranges, each thread in a workspace of its own.
  void sort_small() {
    std::atomic<size_t> next{0};
    parallel_for(threads, work.size(), [&](int64_t worker) {
      const SmallSort sorter{catalogue, work[worker].scratch};
      for (size_t i = next++; i < small.size(); i = next++) {
        const Range& range = small[i];
        if (range.size() <= kLargestPart)
          sorter.sort(records + range.begin, range.size(), range.word, range.bits, range.base);
        if (range.word > 0) sorter.load_word(records + range.begin, range.size(), 0);
        progress.advance(range.size());
      }
    });
  }
};

int64_t workers(int64_t rows, int threads) { return std::clamp<int64_t>(rows / kParallel, 1, threads); }

}  // namespace

int64_t sort_rows_bytes(int64_t rows, int threads) {
  return checked_bytes(rows, sizeof(Record)) + workers(rows, threads) * static_cast<int64_t>(sizeof(Workspace));
}

std::vector<Part> sort_rows(const Catalogue& catalogue, int threads, Buffer<Record>& records, Progress& progress) {
  const int64_t rows = catalogue.rows;
  Sort sort{catalogue, threads,  Buffer<Workspace>(catalogue.allocator, workers(rows, threads)),
            records.data(), progress, {}};
  const Range all{0, rows, 0, catalogue.layout.word_bits[0], 0};
  const Digit digit = highest_digit(all);
  std::vector<Range> ranges;
  add_ranges(all, digit,
             take_apart(Words{catalogue.words[0]}, all, digit, threads, sort.work, records.data(), progress), ranges);
  progress.advance(rows);
  sort.split(std::move(ranges));
  std::sort(sort.small.begin(), sort.small.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  sort.sort_small();
  std::vector<Part> parts;
  for (const Range& range : sort.small) parts.push_back({range.begin, range.end});
  return parts;
}

}  // namespace sidbeam
