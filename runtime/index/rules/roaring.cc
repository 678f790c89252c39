// Roaring's portable format (github.com/RoaringBitmap/RoaringFormatSpec): a cookie, per container of 2^16 rows a key
// and a cardinality, mostly where each begins, and the containers: rising arrays, bitmaps or runs. All of it is checked
// and used as it is read, in one pass. Libraries that would read it for us cannot check it (libroaring 0.2.66).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "index/rules/row_sets.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using ull = unsigned long long;

constexpr uint32_t kCookie = 12346, kRunsCookie = 12347;
constexpr uint32_t kMostContainers = 1 << 16, kContainerRows = 1 << 16;
constexpr uint32_t kLeastOffsets = 4;  // containers that have an offset header beside runs
constexpr uint32_t kMostOfArray = 4096;
constexpr uint32_t kBitmapWords = kContainerRows / 64;

struct Reader {
  std::span<const uint8_t> bytes;
  size_t at = 0;
};

// "filter: Roaring bitmap: at byte 12: key 3 after 3, expected a larger one"
[[noreturn]] __attribute__((format(printf, 2, 3))) void refuse(size_t at, const char* format, ...) {
  char what[200];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  fail(SIDBEAM_INVALID_ARGUMENT, "filter: Roaring bitmap: at byte %zu: %s", at, what);
}

// The next `bytes` bytes, which are there.
const uint8_t* take(Reader& reader, const char* what, size_t bytes) {
  const size_t left = reader.bytes.size() - reader.at;
  if (bytes > left) refuse(reader.at, "%zu bytes are left, expected %zu of %s", left, bytes, what);
  const uint8_t* taken = reader.bytes.data() + reader.at;
  reader.at += bytes;
  return taken;
}

uint32_t load16(const uint8_t* at, size_t i) { return at[2 * i] | static_cast<uint32_t>(at[2 * i + 1]) << 8; }
uint32_t load32(const uint8_t* at, size_t i) { return load16(at, 2 * i) | load16(at, 2 * i + 1) << 16; }

struct Header {
  uint32_t containers = 0;
  const uint8_t* runs = nullptr;     // a bit per container; nullptr: none has runs
  const uint8_t* entries = nullptr;  // [containers] key and cardinality - 1
  const uint8_t* offsets = nullptr;  // [containers] where each begins, or nullptr
  size_t entries_at = 0, offsets_at = 0;

  bool has_runs(uint32_t i) const { return runs != nullptr && (runs[i / 8] >> i % 8 & 1) != 0; }
  uint32_t key(uint32_t i) const { return load16(entries, 2 * i); }
  uint32_t cardinality(uint32_t i) const { return load16(entries, 2 * i + 1) + 1; }
};

Header take_header(Reader& reader) {
  Header header;
  const uint32_t cookie = load32(take(reader, "a cookie", 4), 0);
  if (cookie == kCookie) {
    header.containers = load32(take(reader, "a number of containers", 4), 0);
    if (header.containers > kMostContainers)
      refuse(4, "%u containers, expected at most %u", header.containers, kMostContainers);
  } else if ((cookie & 0xFFFF) == kRunsCookie) {
    header.containers = (cookie >> 16) + 1;
    header.runs = take(reader, "a bit per container", (header.containers + 7) / 8);
    if (header.containers % 8 != 0 && header.runs[header.containers / 8] >> header.containers % 8 != 0)
      refuse(reader.at - 1, "bits past the last of %u containers are set, expected 0", header.containers);
  } else {
    refuse(0, "cookie %u, expected %u, or %u in its low half (the portable format of 32 bits)", cookie, kCookie,
           kRunsCookie);
  }
  header.entries_at = reader.at;
  header.entries = take(reader, "keys and cardinalities", size_t{4} * header.containers);
  header.offsets_at = reader.at;
  if (header.runs == nullptr || header.containers >= kLeastOffsets)
    header.offsets = take(reader, "offsets", size_t{4} * header.containers);
  return header;
}

// The 2^16 rows of a container, or as many of them as there are.
struct Rows {
  uint64_t* words;
  uint64_t count;  // rows that there are; at least 1
  uint32_t first;  // the container's first, for messages
  size_t at;       // where the container's contents begin
};

[[noreturn]] void refuse_row(const Rows& rows, size_t at, uint32_t row) {
  refuse(at, "row %u, expected one below %llu, the number of items", rows.first + row,
         static_cast<ull>(rows.first + rows.count));
}

void take_array(Reader& reader, uint32_t cardinality, const Rows& rows) {
  const uint8_t* values = take(reader, "an array of rows", size_t{2} * cardinality);
  uint32_t least = 0;
  for (uint32_t i = 0; i < cardinality; ++i) {
    const uint32_t value = load16(values, i);
    if (value < least)
      refuse(rows.at + size_t{2} * i, "row %u after %u, expected a larger one", rows.first + value,
             rows.first + least - 1);
    if (value >= rows.count) refuse_row(rows, rows.at + size_t{2} * i, value);
    rows.words[value / 64] |= uint64_t{1} << value % 64;
    least = value + 1;
  }
}

void take_bitmap(Reader& reader, uint32_t cardinality, const Rows& rows) {
  const uint8_t* bitmap = take(reader, "a bitmap of rows", sizeof(uint64_t) * kBitmapWords);
  uint32_t found = 0;
  for (uint32_t word = 0; word < kBitmapWords; ++word) {
    uint64_t bits;
    std::memcpy(&bits, bitmap + sizeof bits * word, sizeof bits);
    if (bits == 0) continue;
    const uint32_t last = word * 64 + 63 - static_cast<uint32_t>(std::countl_zero(bits));
    if (last >= rows.count) refuse_row(rows, rows.at + last / 8, last);
    rows.words[word] = bits;
    found += static_cast<uint32_t>(std::popcount(bits));
  }
  if (found != cardinality) refuse(rows.at, "a bitmap of %u rows, expected %u, its cardinality", found, cardinality);
}

// Sets the bits of first..last.
void set_run(uint64_t* words, uint32_t first, uint32_t last) {
  for (uint32_t word = first / 64; word <= last / 64; ++word) {
    uint64_t bits = ~uint64_t{0};
    if (word == first / 64) bits <<= first % 64;
    if (word == last / 64) bits &= ~uint64_t{0} >> (63 - last % 64);
    words[word] |= bits;
  }
}

// Runs that touch might have been one, but no rule is against them.
void take_runs(Reader& reader, uint32_t cardinality, const Rows& rows) {
  const uint32_t count = load16(take(reader, "a number of runs", 2), 0);
  const uint8_t* runs = take(reader, "runs", size_t{4} * count);
  uint32_t least = 0, found = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t first = load16(runs, 2 * i), last = first + load16(runs, 2 * i + 1);
    const size_t at = rows.at + 2 + size_t{4} * i;
    if (first < least)
      refuse(at, "a run from row %u on, expected %u or more, after the run before", rows.first + first,
             rows.first + least);
    if (last >= kContainerRows)
      refuse(at, "a run of %u rows from %u of 65536 on, past their end", last - first + 1, first);
    if (last >= rows.count) refuse_row(rows, at, last);
    set_run(rows.words, first, last);
    found += last - first + 1;
    least = last + 1;
  }
  if (found != cardinality) refuse(rows.at, "runs of %u rows, expected %u, their cardinality", found, cardinality);
}

void take_container(Reader& reader, const Header& header, uint32_t i, uint64_t items, RowBits& bits) {
  const size_t entry_at = header.entries_at + size_t{4} * i;
  const uint32_t key = header.key(i), cardinality = header.cardinality(i);
  if (i > 0 && key <= header.key(i - 1))
    refuse(entry_at, "key %u after %u, expected a larger one", key, header.key(i - 1));
  if (header.offsets != nullptr && load32(header.offsets, i) != reader.at)
    refuse(header.offsets_at + size_t{4} * i, "container %u at byte %u, expected %zu, where the one before ends", i,
           load32(header.offsets, i), reader.at);
  const uint64_t first = uint64_t{key} << 16;
  if (first >= items)
    refuse(entry_at, "rows from %llu on, expected rows below %llu, the number of items", static_cast<ull>(first),
           static_cast<ull>(items));
  const Rows rows = {bits.data() + first / 64, std::min<uint64_t>(items - first, kContainerRows),
                     static_cast<uint32_t>(first), reader.at};
  if (header.has_runs(i))
    take_runs(reader, cardinality, rows);
  else if (cardinality <= kMostOfArray)
    take_array(reader, cardinality, rows);
  else
    take_bitmap(reader, cardinality, rows);
}

}  // namespace

RowBits rows_from_roaring(std::span<const uint8_t> bytes, uint64_t items, const Allocator& allocator) {
  RowBits bits = RowBits::zeroed(allocator, static_cast<int64_t>(row_words(items)) + 1);
  Reader reader{bytes};
  const Header header = take_header(reader);
  for (uint32_t i = 0; i < header.containers; ++i) take_container(reader, header, i, items, bits);
  if (reader.at != bytes.size())
    refuse(reader.at, "%zu bytes after the last container, expected none", bytes.size() - reader.at);
  return bits;
}

}  // namespace sidbeam
