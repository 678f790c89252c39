// SPDX-License-Identifier: Apache-2.0
#include "pattern.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bytes.h"
#include "numbers.h"

namespace importer {
namespace {

// The end of the text that begins here. Both stops are ASCII, so that a byte which is not is neither of them.
const char* find_stop(const char* at, uint64_t stop, uint64_t other_stop, bool* ascii) {
  for (uint64_t all = 0;; at += 8) {
    const uint64_t word = eight_bytes(at);
    all |= word;
    // The high bit of the lowest byte that is a control character or either stop; of others above it perhaps too.
    const uint64_t below = (word - kOnes * 0x20) | ((word ^ stop) - kOnes) | ((word ^ other_stop) - kOnes);
    const uint64_t stops = below & ~word & kHighs;
    if (stops == 0) continue;
    if ((all & kHighs) != 0) *ascii = false;
    return at + lowest(stops);
  }
}

// Behind the string of JSON whose quote is here; nullptr where it has no end. Escapes are passed over.
const char* skip_string(const char* at, bool* ascii) {
  for (++at;; at += 2) {
    at = find_stop(at, kOnes * '"', kOnes * '\\', ascii);
    if (*at == '"') return at + 1;
    if (*at != '\\' || static_cast<unsigned char>(at[1]) < 0x20) return nullptr;
  }
}

const char* skip_digits(const char* at) {
  int digits = 8;
  for (; digits == 8; at += digits) digits = leading_digits(eight_bytes(at));
  return at;
}

}  // namespace

const char* skip_number(const char* at) {
  if (*at == '-') ++at;
  const char* const begin = at;
  at = skip_digits(at);
  if (at == begin || (*begin == '0' && at > begin + 1)) return nullptr;
  for (const char sign : {'.', 'e'}) {
    if ((*at | 0x20) != (sign | 0x20)) continue;
    ++at;
    if (sign == 'e' && (*at == '+' || *at == '-')) ++at;
    const char* const digits = at;
    at = skip_digits(at);
    if (at == digits) return nullptr;
  }
  return at;
}

namespace {

const char* skip_value(const char* at, bool* ascii) {
  if (*at == '"') return skip_string(at, ascii);
  for (const std::string_view word : {"null", "true", "false"}) {
    if (std::memcmp(at, word.data(), word.size()) == 0) return at + word.size();
  }
  return skip_number(at);
}

constexpr int kMostDigits = 18;  // that an int64 holds, whatever they are

// Behind the digits that begin here, if they are an integer as programs print it, or nullptr.
const char* skip_integer(const char* at) {
  const char* const end = skip_digits(at);
  return end == at || end - at > kMostDigits || (*at == '0' && end > at + 1) ? nullptr : end;
}

// Behind the integer that begins here, as programs print it, or nullptr.
const char* read_integer(const char* at, int64_t* number) {
  constexpr uint64_t kPowers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
  const bool negative = *at == '-';
  if (negative) ++at;
  const char* const begin = at;
  uint64_t value = 0;
  for (int digits = 8; digits == 8 && at - begin <= kMostDigits; at += digits) {
    const uint64_t word = eight_bytes(at);
    digits = leading_digits(word);
    if (digits > 0) value = value * kPowers[digits] + static_cast<uint64_t>(number_of(word, digits));
  }
  const ptrdiff_t digits = at - begin;
  if (digits == 0 || digits > kMostDigits || (*begin == '0' && (digits > 1 || negative))) return nullptr;
  *number = static_cast<int64_t>(negative ? -value : value);
  return at;
}

}  // namespace

Pattern::Pattern(std::string_view record, const std::vector<Mark>& marks) {
  const char* at = record.data();
  for (const Mark& mark : marks) {
    add_piece({at, static_cast<size_t>(mark.text.data() - at)});
    Piece& piece = pieces_.back();
    piece.hole = mark.hole;
    piece.stop = kOnes * static_cast<unsigned char>(mark.stop);
    piece.other_stop = kOnes * static_cast<unsigned char>(mark.other_stop);
    piece.number = mark.number;
    count_ += mark.hole == Hole::kNumber ? 1 : 0;
    item_is_digits_ = item_is_digits_ || mark.hole == Hole::kItemDigits;
    at = mark.text.data() + mark.text.size();
  }
  add_piece({at, static_cast<size_t>(record.data() + record.size() - at)});
}

void Pattern::add_piece(std::string_view text) {
  Piece piece;
  piece.bytes = static_cast<int32_t>(text.size());
  piece.more = static_cast<int32_t>(words_.size());
  for (size_t i = 0; i < 2 || !text.empty(); ++i) {
    Word word{};
    const size_t bytes = std::min<size_t>(text.size(), sizeof word.bytes);
    std::memcpy(&word.bytes, text.data(), bytes);
    std::memset(&word.mask, 0xff, bytes);
    text.remove_prefix(bytes);
    if (i < 2) piece.first[i] = word;
    if (i >= 2) words_.push_back(word), ++piece.words;
  }
  pieces_.push_back(piece);
}

// Zero where the text here is the word's.
inline uint64_t Pattern::difference(const Word& word, const char* at) {
  return (eight_bytes(at) ^ word.bytes) & word.mask;
}

bool Pattern::fits_more(const Piece& piece, const char* at) const {
  const Word* const first = words_.data() + piece.more;
  return std::all_of(first, first + piece.words,
                     [&](const Word& word) { return difference(word, at + (&word - first) * 8) == 0; });
}

// Numbers are read here, in a loop that has room for their constants, and what takes more of it elsewhere.
size_t Pattern::match(std::string_view text, Record& record) const {
  const char* at = text.data();
  const char* const end = at + text.size();
  record.priority = 0;
  record.ascii = true;
  record.item_is_digits = item_is_digits_;
  record.count = count_;
  for (const Piece* piece = pieces_.data();; ++piece) {
    if (end - at < piece->bytes) return 0;
    if ((difference(piece->first[0], at) | difference(piece->first[1], at + 8)) != 0) return 0;
    if (piece->words > 0 && !fits_more(*piece, at + 16)) return 0;
    at += piece->bytes;
    if (piece->hole == Hole::kNumber) {
      const uint64_t word = eight_bytes(at);
      const int digits = leading_digits(word);
      if (digits == 0 || digits == 8 || ((word & 0xff) == '0' && digits > 1)) return 0;
      record.numbers[piece->number] = number_of(word, digits);
      at += digits;
    } else if (piece->hole == Hole::kEnd) {
      return static_cast<size_t>(at - text.data());
    } else {
      at = read_hole(*piece, at, record);
      if (at == nullptr) return 0;
    }
  }
}

// Behind the hole, or nullptr where what is in it does not fit. What follows is for the next piece to say.
const char* Pattern::read_hole(const Piece& piece, const char* at, Record& record) {
  const char* const begin = at;
  int64_t number = 0;
  switch (piece.hole) {
    case Hole::kItem:
      at = find_stop(at, piece.stop, piece.other_stop, &record.ascii);
      if (at == begin) return nullptr;
      break;
    case Hole::kItemDigits:
      at = skip_integer(at);
      break;
    case Hole::kItemNumber:
      at = read_integer(at, &number);
      break;
    case Hole::kText:
      return find_stop(at, piece.stop, piece.other_stop, &record.ascii);
    case Hole::kPriority:
      return read_integer(at, &record.priority);
    case Hole::kValue:
      return skip_value(at, &record.ascii);
    case Hole::kNumber:
    case Hole::kEnd:
      return at;
  }
  record.item = {begin, static_cast<size_t>(at - begin)};
  return at;
}

size_t Patterns::match_others(std::string_view text, Pattern::Record& record) {
  for (size_t i = 1; i < patterns_.size(); ++i) {
    const size_t bytes = patterns_[i].match(text, record);
    if (bytes == 0) continue;
    std::swap(patterns_[i], patterns_[i - 1]);
    return bytes;
  }
  return 0;
}

void Patterns::learn(std::string_view record, std::vector<Pattern::Mark> marks) {
  using Mark = Pattern::Mark;
  const auto before = [](const Mark& a, const Mark& b) { return a.text.data() < b.text.data(); };
  const auto overlap = [](const Mark& a, const Mark& b) { return a.text.data() + a.text.size() > b.text.data(); };
  const auto is_item = [](const Mark& mark) {
    return mark.hole == Pattern::Hole::kItem || mark.hole == Pattern::Hole::kItemNumber;
  };
  // Ids of which one is digits mostly are, and then need no other check.
  const auto is_digits = [&](const Mark& mark) {
    return is_item(mark) && mark.text.size() <= kMostDigits && parse_canonical<uint64_t>(mark.text);
  };
  std::sort(marks.begin(), marks.end(), before);
  if (std::adjacent_find(marks.begin(), marks.end(), overlap) != marks.end()) return;
  if (std::none_of(marks.begin(), marks.end(), is_item)) return;
  for (Mark& mark : marks) mark.hole = is_digits(mark) ? Pattern::Hole::kItemDigits : mark.hole;
  if (patterns_.size() == kMost) patterns_.pop_back();
  patterns_.emplace(patterns_.begin(), record, marks);
}

}  // namespace importer
