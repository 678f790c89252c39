// Splits the rows by their highest digit into parts that fit a core's cache, then sorts each part by no more bits than
// it takes to tell its records apart. The records go through memory once; an LSD sort needs one pass per 11 bits. Real
// SIDs cluster, so all threads together split a part again if it is still too large.
//
// To split, each thread collects one cache line per bucket and writes whole lines past the cache. Writing to 4096 open
// pages directly would thrash the TLB (research: performance, section 4).
// SPDX-License-Identifier: Apache-2.0
#include "index/build/radix.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <utility>

#include "support/parallel.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace sidbeam {
namespace {

constexpr int kMostBits = 12;  // bits of a digit that splits a part
constexpr int64_t kBuckets = 1 << kMostBits;
constexpr int64_t kLine = 64 / sizeof(uint64_t);    // keys or rows per cache line
constexpr int64_t kLargestPart = int64_t{1} << 16;  // records; twice as many fit a core's own cache
constexpr int64_t kUsualPart = int64_t{1} << 14;
constexpr int64_t kReportedRecords = int64_t{1} << 18;  // records between two reports of progress
constexpr int64_t kParallel = int64_t{1} << 17;         // fewer records are not worth another thread

int bits_of(int64_t count) { return static_cast<int>(std::bit_width(static_cast<uint64_t>(count))); }

struct Digit {
  uint64_t base;
  int shift, bits;
  int64_t buckets() const { return int64_t{1} << bits; }
  uint64_t of(uint64_t key) const { return (key - base) >> shift & ((uint64_t{1} << bits) - 1); }
};

struct alignas(64) Lines {
  struct {
    uint64_t keys[kLine], rows[kLine];
  } line[kBuckets];
  int64_t next[kBuckets];   // where the next record of a bucket goes
  int64_t first[kBuckets];  // where this slice's records of a bucket begin
};

struct Slices {
  int64_t count, first, records;
  int64_t begin(int64_t slice) const { return first + records / count * slice + std::min(slice, records % count); }
  int64_t end(int64_t slice) const { return begin(slice + 1); }
};

// Keys and their rows in parallel arrays.
struct Columns {
  uint64_t *keys, *rows;
  Columns operator+(int64_t i) const { return {keys + i, rows + i}; }
};

// The two inputs of a split: words of the catalogue, whose rows are their positions, or records that were split before.
struct Words {
  const ChunkedArray<uint64_t>& words;
  int64_t run(int64_t i) const { return words.run(i); }
  const uint64_t* keys(int64_t i) const { return &words[i]; }
  static uint64_t row(int64_t i) { return static_cast<uint64_t>(i); }
};
struct Records {
  Columns columns;
  int64_t first;  // number of the first record
  static int64_t run(int64_t) { return kReportedRecords; }
  const uint64_t* keys(int64_t i) const { return columns.keys + (i - first); }
  uint64_t row(int64_t i) const { return columns.rows[i - first]; }
};

// Calls body(keys, i, count) for pieces of [begin, end).
template <class Source, class Body>
void by_pieces(const Source& source, int64_t begin, int64_t end, Progress& progress, Body&& body) {
  for (int64_t i = begin, piece = 0; i < end; i += piece) {
    piece = std::min({end - i, source.run(i), kReportedRecords});
    body(source.keys(i), i, piece);
    progress.advance(0);
  }
}

void store_line(uint64_t* to, const uint64_t* line) {
#ifdef __SSE2__
  auto* out = reinterpret_cast<__m128i*>(to);
  const auto* in = reinterpret_cast<const __m128i*>(line);
  for (int i = 0; i < 4; ++i) _mm_stream_si128(out + i, _mm_load_si128(in + i));
#else
  std::copy(line, line + kLine, to);
#endif
}

void flush(Lines& lines, uint64_t bucket, Columns out) {
  const int64_t end = lines.next[bucket], line_begin = (end - 1) & ~(kLine - 1);
  const int64_t begin = std::max(line_begin, lines.first[bucket]);
  const auto& line = lines.line[bucket];
  if (end - begin == kLine) {
    store_line(out.keys + begin, line.keys);
    store_line(out.rows + begin, line.rows);
  } else {
    std::copy(line.keys + (begin - line_begin), line.keys + (end - line_begin), out.keys + begin);
    std::copy(line.rows + (begin - line_begin), line.rows + (end - line_begin), out.rows + begin);
  }
}

// Moves a slice to its buckets. lines.next says where each bucket's next record goes.
template <class Source>
void scatter(const Source& source, int64_t begin, int64_t end, Digit digit, Lines& lines, Columns out,
             Progress& progress) {
  std::copy(lines.next, lines.next + digit.buckets(), lines.first);
  by_pieces(source, begin, end, progress, [&](const uint64_t* keys, int64_t first, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const uint64_t bucket = digit.of(keys[i]);
      const int64_t to = lines.next[bucket]++;
      lines.line[bucket].keys[to & (kLine - 1)] = keys[i];
      lines.line[bucket].rows[to & (kLine - 1)] = source.row(first + i);
      if ((to & (kLine - 1)) == kLine - 1) flush(lines, bucket, out);
    }
  });
  for (uint64_t bucket = 0; bucket < static_cast<uint64_t>(digit.buckets()); ++bucket) {
    if ((lines.next[bucket] & (kLine - 1)) != 0 && lines.next[bucket] > lines.first[bucket]) flush(lines, bucket, out);
  }
#ifdef __SSE2__
  _mm_sfence();
#endif
}

// Distributes `source` over out [part.begin, part.end) by a digit. Returns where each bucket begins, followed by the
// end of the last one.
template <class Source>
std::vector<int64_t> to_buckets(const Source& source, const SortPart& part, Digit digit, int threads,
                                Buffer<Lines>& lines, Columns out, Progress& progress) {
  const Slices slices{std::clamp<int64_t>(part.size() / kParallel, 1, lines.size()), part.begin, part.size()};
  parallel_for(threads, slices.count, [&](int64_t slice) {
    int64_t* counts = lines[slice].next;
    std::fill(counts, counts + digit.buckets(), 0);
    by_pieces(source, slices.begin(slice), slices.end(slice), progress,
              [&](const uint64_t* keys, int64_t, int64_t count) {
                for (int64_t i = 0; i < count; ++i) ++counts[digit.of(keys[i])];
              });
  });
  std::vector<int64_t> begins;
  int64_t sum = part.begin;
  for (int64_t bucket = 0; bucket < digit.buckets(); ++bucket) {
    begins.push_back(sum);
    for (int64_t slice = 0; slice < slices.count; ++slice) sum += std::exchange(lines[slice].next[bucket], sum);
  }
  begins.push_back(sum);
  parallel_for(threads, slices.count, [&](int64_t slice) {
    scatter(source, slices.begin(slice), slices.end(slice), digit, lines[slice], out, progress);
  });
  return begins;
}

// The digit by which to split a part. If keys are spread evenly, the new parts have the usual size.
Digit highest_digit(const SortPart& part) {
  const int enough = bits_of(part.size() / (kUsualPart / 2));
  const int bits = std::min(std::clamp(enough, 1, kMostBits), part.bits);
  return {part.base, part.bits - bits, bits};
}

// Joins neighbouring buckets into parts of at most the usual size. A larger bucket becomes a part of its own.
void add_parts(const SortPart& whole, Digit digit, const std::vector<int64_t>& begins, std::vector<SortPart>& out) {
  const auto begin_of = [&](int64_t bucket) { return begins[static_cast<size_t>(bucket)]; };
  for (int64_t first = 0, last = 0; first < digit.buckets(); first = last) {
    last = first + 1;
    while (last < digit.buckets() && begin_of(last + 1) - begin_of(first) <= kUsualPart) ++last;
    const SortPart part{begin_of(first), begin_of(last), whole.word, digit.shift + bits_of(last - first - 1),
                        whole.base + (static_cast<uint64_t>(first) << digit.shift)};
    if (part.size() > 0) out.push_back(part);
  }
}

// Sorts records that fit a core's cache.
struct SmallSort {
  const Catalogue& catalogue;
  Record* scratch;

  static constexpr int64_t kInsertion = 16;
  static constexpr int kDigitBits = 10;  // a call sorts by two digits; more buckets would not fit the first-level cache

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

  // Sorts by bits [low, low + bits) of key - base, which are its highest.
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

  // Sorts each run of records that differ only in the lowest bits of this word and in later words.
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

int64_t workers(int64_t rows, int threads) { return std::clamp<int64_t>(rows / kParallel, 1, threads); }

// Splits the parts that are still too large.
struct Splitter {
  const Catalogue& catalogue;
  int threads;
  Buffer<Lines>& lines;
  Columns out;
  Progress& progress;
  int64_t spare_bytes = 0;

  bool is_final(const SortPart& part) const {
    return part.size() <= kLargestPart || (part.bits == 0 && part.word + 1 == catalogue.layout.words);
  }

  std::vector<SortPart> split(std::vector<SortPart> parts) {
    std::vector<SortPart> finished;
    Buffer<uint64_t> keys, rows;  // sized for the largest part so far
    while (!parts.empty()) {
      SortPart part = parts.back();
      parts.pop_back();
      if (is_final(part)) {
        finished.push_back(part);
        continue;
      }
      if (part.bits == 0) part = {part.begin, part.end, part.word + 1, catalogue.layout.word_bits[part.word + 1], 0};
      if (keys.size() < part.size()) {
        keys = {};
        rows = {};
        keys = Buffer<uint64_t>(catalogue.allocator, part.size());
        rows = Buffer<uint64_t>(catalogue.allocator, part.size());
        spare_bytes = std::max(spare_bytes, keys.bytes() + rows.bytes());
      }
      const Columns copy{keys.data(), rows.data()};
      copy_out(part, copy);
      const Digit digit = highest_digit(part);
      const auto begins = to_buckets(Records{copy, part.begin}, part, digit, threads, lines, out, progress);
      add_parts(part, digit, begins, parts);
    }
    std::sort(finished.begin(), finished.end(), [](const SortPart& a, const SortPart& b) { return a.begin < b.begin; });
    return finished;
  }

  // Copies the rows and the word that is now the key.
  void copy_out(const SortPart& part, Columns copy) const {
    const auto& words = catalogue.words[static_cast<size_t>(part.word)];
    parallel_for(threads, (part.size() + kReportedRecords - 1) / kReportedRecords, [&](int64_t block) {
      const int64_t begin = block * kReportedRecords, end = std::min(part.size(), begin + kReportedRecords);
      const Columns from = out + part.begin;
      std::copy(from.rows + begin, from.rows + end, copy.rows + begin);
      if (part.word == 0) {
        std::copy(from.keys + begin, from.keys + end, copy.keys + begin);
      } else {
        for (int64_t i = begin; i < end; ++i) copy.keys[i] = words[static_cast<int64_t>(from.rows[i])];
      }
      progress.advance(0);
    });
  }
};

// The number of records of the largest part that is sorted in a cache, and of the largest part that is not. The latter
// is a single SID and already in order.
int64_t scratch_room(const std::vector<SortPart>& parts) {
  int64_t room = 0;
  for (const SortPart& part : parts) room = std::max(room, part.size() <= kLargestPart ? part.size() : 0);
  return room;
}
int64_t whole_room(const std::vector<SortPart>& parts) {
  int64_t room = 0;
  for (const SortPart& part : parts) room = std::max(room, part.size() > kLargestPart ? part.size() : 0);
  return room;
}

void sort_part(const Catalogue& catalogue, const SortPart& part, Record* records, Record* scratch) {
  const SmallSort sorter{catalogue, scratch};
  sorter.sort(records, part.size(), part.word, part.bits, part.base);
  if (part.word > 0) sorter.load_word(records, part.size(), 0);
}

}  // namespace

int64_t least_sort_bytes(int64_t rows, int threads) {
  const auto room = 2 * std::min(rows, kUsualPart) * static_cast<int64_t>(sizeof(Record));
  return workers(rows, threads) * std::max(static_cast<int64_t>(sizeof(Lines)), room);
}

int64_t most_sort_bytes(int64_t rows, int threads) {
  const auto room = 2 * std::min(rows, kLargestPart) * static_cast<int64_t>(sizeof(Record));
  return workers(rows, threads) * std::max(static_cast<int64_t>(sizeof(Lines)), room) +
         (rows > kLargestPart ? checked_bytes(rows, sizeof(Record)) : 0);
}

SortParts take_apart(const Catalogue& catalogue, int threads, Buffer<uint64_t>& keys, Buffer<uint64_t>& rows,
                     Progress& progress) {
  const int64_t count = workers(catalogue.rows, threads);
  Buffer<Lines> lines(catalogue.allocator, count);
  const Columns out{keys.data(), rows.data()};
  const SortPart all{0, catalogue.rows, 0, catalogue.layout.word_bits[0], 0};
  const Digit digit = highest_digit(all);
  std::vector<SortPart> first;
  add_parts(all, digit, to_buckets(Words{catalogue.words[0]}, all, digit, threads, lines, out, progress), first);
  Splitter splitter{catalogue, threads, lines, out, progress};
  SortParts result;
  result.parts = splitter.split(std::move(first));
  result.bytes = std::max(
      lines.bytes() + splitter.spare_bytes,
      (2 * count * scratch_room(result.parts) + whole_room(result.parts)) * static_cast<int64_t>(sizeof(Record)));
  return result;
}

void sort_parts(const Catalogue& catalogue, int threads, const std::vector<SortPart>& parts,
                const Buffer<uint64_t>& keys, const Buffer<uint64_t>& rows,
                const std::function<void(size_t, Record*)>& body) {
  const int64_t count = workers(catalogue.rows, threads), room = scratch_room(parts);
  Buffer<Record> scratch(catalogue.allocator, 2 * count * room);
  Buffer<Record> whole(catalogue.allocator, whole_room(parts));
  const auto load = [&](const SortPart& part, Record* to) {
    for (int64_t i = 0; i < part.size(); ++i) to[i] = {keys[part.begin + i], rows[part.begin + i]};
  };
  for (size_t i = 0; i < parts.size() && whole.size() != 0; ++i) {
    if (parts[i].size() <= kLargestPart) continue;
    load(parts[i], whole.data());
    if (parts[i].word > 0) SmallSort{catalogue, nullptr}.load_word(whole.data(), parts[i].size(), 0);
    body(i, whole.data());
  }
  std::atomic<size_t> next{0};
  parallel_for(threads, count, [&](int64_t worker) {
    Record* records = scratch.data() + worker * 2 * room;
    for (size_t i = next++; i < parts.size(); i = next++) {
      if (parts[i].size() > kLargestPart) continue;
      load(parts[i], records);
      sort_part(catalogue, parts[i], records, records + room);
      body(i, records);
    }
  });
}

}  // namespace sidbeam
