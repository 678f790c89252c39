// SPDX-License-Identifier: Apache-2.0
#include "index/build/catalogue.h"

#include <algorithm>
#include <cstring>

#include "index/format.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

using ll = long long;

constexpr int64_t kPackRows = int64_t{1} << 15;  // rows per task

// `row` is counted over all calls of add, since the message names it.
[[noreturn]] void bad_code(int64_t row, int level, int32_t code, uint32_t codes) {
  fail(SIDBEAM_INVALID_ARGUMENT, "codes: row %lld, level %d: code %d, expected 0 to %u", static_cast<ll>(row), level,
       code, codes - 1);
}

int checked_length(const Catalogue::Pairs& pairs, int64_t i, int64_t row, const KeyLayout& layout) {
  const int32_t length = pairs.lengths == nullptr ? layout.levels : pairs.lengths[i];
  if (length == 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "lengths: row %lld is empty, a SID has at least 1 code", static_cast<ll>(row));
  if (!layout.variable_length && length != layout.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "lengths: row %lld has %d codes, expected %d (variable_length is 0)",
         static_cast<ll>(row), length, layout.levels);
  if (length < 1 || length > layout.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "lengths: row %lld has %d codes, expected 1 to %d", static_cast<ll>(row), length,
         layout.levels);
  return length;
}

}  // namespace

KeyLayout::KeyLayout(int level_count, const int32_t* level_codes, bool variable)
    : levels(level_count), variable_length(variable) {
  int bits_of[kMaxLevels], room = 0, word = -1;
  for (int l = 0; l < levels; ++l) {
    codes[l] = static_cast<uint32_t>(level_codes[l]);
    // A level with one code needs no bits, but giving it one avoids special cases.
    bits_of[l] = std::max(1, static_cast<int>(std::bit_width(codes[l] - (variable ? 0u : 1u))));
    if (bits_of[l] > room) {
      room = 64;
      ++word;
    }
    room -= bits_of[l];
    place[l].word = static_cast<uint8_t>(word);
    place[l].bits = static_cast<uint8_t>(bits_of[l]);
    word_bits[word] += bits_of[l];
  }
  words = word + 1;
  int used[kMaxLevels] = {};
  for (int l = 0; l < levels; ++l) {
    const int w = place[l].word;
    used[w] += bits_of[l];
    place[l].shift = static_cast<uint8_t>(word_bits[w] - used[w]);
    for (int bit = 0; bit < bits_of[l]; ++bit) level_of_bit[w][place[l].shift + bit] = static_cast<uint8_t>(l);
  }
}

void check_config(const sidbeam_builder_config& config) {
  if (config.levels < 1 || config.levels > SIDBEAM_MAX_LEVELS)
    fail(SIDBEAM_INVALID_ARGUMENT, "levels is %d, expected 1 to %d", config.levels, SIDBEAM_MAX_LEVELS);
  if (config.codes == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "codes is NULL, expected %d numbers", config.levels);
  if (config.variable_length != 0 && config.variable_length != 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "variable_length is %d, expected 0 or 1", config.variable_length);
  const int32_t most = SIDBEAM_MAX_CODES - config.variable_length;
  for (int l = 0; l < config.levels; ++l) {
    if (config.codes[l] < 1 || config.codes[l] > most)
      fail(SIDBEAM_INVALID_ARGUMENT, "codes[%d] is %d, expected 1 to %d", l, config.codes[l], most);
  }
  if (config.id_type < SIDBEAM_ID_I64 || config.id_type > SIDBEAM_ID_STRING)
    fail(SIDBEAM_INVALID_ARGUMENT, "id_type is %d, expected SIDBEAM_ID_I64, U64 or STRING (0 to 2)", config.id_type);
  if (config.kinds < 0 || config.kinds > 15)
    fail(SIDBEAM_INVALID_ARGUMENT, "kinds is %d, expected SIDBEAM_KIND_* or'ed (0 to 15)", config.kinds);
  if (config.collisions < SIDBEAM_COLLISIONS_KEEP || config.collisions > SIDBEAM_COLLISIONS_FIRST)
    fail(SIDBEAM_INVALID_ARGUMENT, "collisions is %d, expected SIDBEAM_COLLISIONS_* (0 to 2)", config.collisions);
  if (config.threads < 0 || config.threads > kMaxThreads)
    fail(SIDBEAM_INVALID_ARGUMENT, "threads is %d, expected 0 to %d", config.threads, kMaxThreads);
  if (config.memory_limit_bytes < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "memory_limit_bytes is %lld, expected 0 or more",
         static_cast<ll>(config.memory_limit_bytes));
  if (config.keep_priorities != 0 && config.keep_priorities != 1)
    fail(SIDBEAM_INVALID_ARGUMENT, "keep_priorities is %d, expected 0 or 1", config.keep_priorities);
}

Catalogue::Catalogue(const sidbeam_builder_config& config, const Allocator& caller)
    : allocator(caller),
      layout(config.levels, config.codes, config.variable_length != 0),
      id_type(static_cast<IdType>(config.id_type)),
      ids(caller),
      names(caller),
      name_text(caller),
      priorities(caller),
      attributes(caller) {
  for (int w = 0; w < layout.words; ++w) words.emplace_back(caller);
}

int64_t Catalogue::bytes() const {
  int64_t sum = ids.bytes() + names.bytes() + name_text.bytes() + priorities.bytes() + attributes.bytes();
  for (const auto& word : words) sum += word.bytes();
  return sum;
}

void Catalogue::check_ids(const Pairs& pairs) const {
  const bool named = pairs.id_offsets != nullptr, given = pairs.has_ids();
  if (id_type != IdType::kString) {
    if (rows > 0 && given != has_ids)
      fail(SIDBEAM_INVALID_ARGUMENT,
           given ? "ids: given here, but not for the %lld rows before"
                 : "ids: NULL here, but given for the %lld rows before",
           static_cast<ll>(rows));
    return;
  }
  if (named && pairs.count > 0 && pairs.id_offsets[0] < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "id_offsets[0] is %lld, expected at least 0", static_cast<ll>(pairs.id_offsets[0]));
  for (int64_t i = 0; named && i < pairs.count; ++i) {
    if (pairs.id_offsets[i + 1] < pairs.id_offsets[i])
      fail(SIDBEAM_INVALID_ARGUMENT, "id_offsets[%lld] is %lld, expected at least the entry before, %lld",
           static_cast<ll>(i + 1), static_cast<ll>(pairs.id_offsets[i + 1]), static_cast<ll>(pairs.id_offsets[i]));
  }
  if (named && pairs.id_bytes == nullptr && pairs.id_offsets[pairs.count] != pairs.id_offsets[0])
    fail(SIDBEAM_INVALID_ARGUMENT, "id_bytes is NULL, expected %lld bytes",
         static_cast<ll>(pairs.id_offsets[pairs.count] - pairs.id_offsets[0]));
}

void Catalogue::reserve(const Pairs& pairs) {
  const int64_t total = rows + pairs.count;
  for (auto& word : words) word.reserve(total);
  if (pairs.has_ids()) ids.reserve(total);
  if (pairs.has_names()) names.reserve(total);
  if (pairs.has_priorities() || has_priorities) priorities.reserve(total);
}

// Packs rows of full length into out[0 .. count). Returns whether all codes are in range. The result is tested once per
// call: a branch per code would cost more than the packing.
bool Catalogue::pack_word(const int32_t* codes, int64_t count, int word, uint64_t* out) const {
  int first = 0;
  while (layout.place[first].word != word) ++first;
  int last = first + 1;
  while (last < layout.levels && layout.place[last].word == word) ++last;
  bool good = true;
  for (int64_t i = 0; i < count; ++i, codes += layout.levels) {
    uint64_t key = 0;
    for (int l = first; l < last; ++l) {
      const auto code = static_cast<uint32_t>(codes[l]);
      good &= code < layout.codes[l];
      key = key << layout.place[l].bits | code;
    }
    out[i] = key;
  }
  return good;
}

// Packs pair i into `row` and checks it in full.
void Catalogue::pack_row(const Pairs& pairs, int64_t i, int64_t row) {
  const int length = checked_length(pairs, i, row, layout);
  const int32_t* codes = pairs.codes + i * layout.levels;
  uint64_t key = 0;
  for (int l = 0; l < layout.levels; ++l) {
    uint32_t code = layout.codes[l];
    if (l < length) {
      if (codes[l] < 0 || static_cast<uint32_t>(codes[l]) >= code) bad_code(row, l, codes[l], code);
      code = static_cast<uint32_t>(codes[l]);
    }
    key = key << layout.place[l].bits | code;
    if (layout.place[l].shift == 0) {
      words[layout.place[l].word][row] = key;
      key = 0;
    }
  }
}

// Packs pairs [begin, end) into reserved room that `rows` does not count yet; pair 0 goes to row `first`.
void Catalogue::pack(const Pairs& pairs, int64_t begin, int64_t end, int64_t first) {
  for (int64_t i = begin, piece = 0; i < end; i += piece) {
    const int64_t row = first + i;
    piece = std::min(end - i, words[0].run(row));  // every array has the same chunks
    bool good = pairs.lengths == nullptr;
    for (int w = 0; w < layout.words && good; ++w)
      good = pack_word(pairs.codes + i * layout.levels, piece, w, &words[static_cast<size_t>(w)][row]);
    for (int64_t k = 0; k < piece && !good; ++k) pack_row(pairs, i + k, row + k);
    if (pairs.ids != nullptr) std::copy(pairs.ids + i, pairs.ids + i + piece, &ids[row]);
    if (pairs.priorities != nullptr) {
      std::copy(pairs.priorities + i, pairs.priorities + i + piece, &priorities[row]);
    } else if (has_priorities) {
      std::fill_n(&priorities[row], piece, 0);
    }
  }
}

// The same of pairs some of which are to be read: in pieces, whose codes stay in the nearest cache between the reader
// and the packing.
void Catalogue::pack_read(const Pairs& pairs, int64_t begin, int64_t end) {
  constexpr int64_t kPieceCodes = 4096;
  const int64_t most = std::max<int64_t>(kPieceCodes / layout.levels, 1);
  Buffer<int32_t> codes(allocator, most * layout.levels), lengths(allocator, most);
  for (int64_t i = begin, piece = 0; i < end; i += piece) {
    piece = std::min({end - i, most, words[0].run(rows + i)});
    Pairs read;
    read.codes = codes.data();
    if (!pairs.read_codes) {
      read.codes = pairs.codes + i * layout.levels;
    } else if (!pairs.read_codes(i, piece, codes.data(), lengths.data())) {
      read.lengths = lengths.data();
    }
    read.ids = pairs.ids != nullptr ? pairs.ids + i : nullptr;
    read.priorities = pairs.priorities != nullptr ? pairs.priorities + i : nullptr;
    pack(read, 0, piece, rows + i);
    if (pairs.read_ids) pairs.read_ids(i, piece, &ids[rows + i]);
    if (pairs.read_priorities) pairs.read_priorities(i, piece, &priorities[rows + i]);
  }
}

void Catalogue::copy_names(const Pairs& pairs) {
  const int64_t first = pairs.id_offsets[0], bytes = pairs.id_offsets[pairs.count] - first;
  char* const to = name_text.take(bytes);
  if (bytes > 0) std::memcpy(to, pairs.id_bytes + first, static_cast<size_t>(bytes));
  for (int64_t i = 0; i < pairs.count; ++i) {
    const auto length = static_cast<size_t>(pairs.id_offsets[i + 1] - pairs.id_offsets[i]);
    names[rows + i] = {to + (pairs.id_offsets[i] - first), length};
  }
}

void Catalogue::copy_scattered_names(const Pairs& pairs) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < pairs.count; ++i) bytes += static_cast<int64_t>(pairs.names[i].size());
  char* to = name_text.take(bytes);
  for (int64_t i = 0; i < pairs.count; ++i) {
    const std::string_view name = pairs.names[i];
    if (!name.empty()) std::memcpy(to, name.data(), name.size());
    names[rows + i] = {to, name.size()};
    to += name.size();
  }
}

void Catalogue::rewind(const Mark& to) {
  rows = to.rows;
  has_ids = to.has_ids;
  has_priorities = to.has_priorities;
  name_text.rewind(to.name_text);
  attributes.rewind(rows);
}

void Catalogue::move_row(int64_t from, int64_t to) {
  for (auto& word : words) word[to] = word[from];
  if (has_ids) ids[to] = ids[from];
  if (id_type == IdType::kString) names[to] = names[from];
  if (has_priorities) priorities[to] = priorities[from];
}

void Catalogue::gather_names(int64_t first, const TextRoom::Mark& to) {
  if (id_type != IdType::kString) return;
  std::string text;
  for (int64_t row = first; row < rows; ++row) text += names[row];
  name_text.rewind(to);
  char* at = name_text.take(std::ssize(text));
  std::copy(text.begin(), text.end(), at);
  for (int64_t row = first; row < rows; ++row) {
    names[row] = {at, names[row].size()};
    at += names[row].size();
  }
}

int Catalogue::sid_of(int64_t row, int32_t* codes) const {
  for (int l = 0; l < layout.levels; ++l) {
    const uint32_t code = layout.code(l, words[layout.place[l].word][row]);
    if (layout.variable_length && code == layout.codes[l]) return l;
    codes[l] = static_cast<int32_t>(code);
  }
  return layout.levels;
}

void Catalogue::add(const Pairs& pairs, int threads) {
  if (static_cast<uint64_t>(rows) + static_cast<uint64_t>(pairs.count) >= kMaxItems)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld after %lld rows, an index holds fewer than 2^40",
         static_cast<ll>(pairs.count), static_cast<ll>(rows));
  check_ids(pairs);
  reserve(pairs);
  const auto tasks = static_cast<int64_t>(divide_up(static_cast<uint64_t>(pairs.count), kPackRows));
  const bool reads = pairs.read_codes || pairs.read_ids || pairs.read_priorities;
  parallel_for(threads, tasks, [&](int64_t task) {
    const int64_t begin = task * kPackRows, end = std::min(pairs.count, begin + kPackRows);
    if (reads)
      pack_read(pairs, begin, end);
    else
      pack(pairs, begin, end, rows);
  });
  if (pairs.id_offsets != nullptr) copy_names(pairs);
  if (pairs.names != nullptr) copy_scattered_names(pairs);
  if (pairs.has_priorities() && !has_priorities) {
    // Earlier rows had no priorities, which means 0.
    for (int64_t row = 0; row < rows; ++row) priorities[row] = 0;
    has_priorities = true;
  }
  has_ids = pairs.has_ids();
  gave_priorities = pairs.has_priorities();
  rows += pairs.count;
}

}  // namespace sidbeam
