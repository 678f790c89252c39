// SPDX-License-Identifier: Apache-2.0
#include "pattern.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "bytes.h"
#include "numbers.h"

namespace importer {
namespace {

// The end of the text that begins here.
const char* find_stop(const char* at, uint64_t stop, uint64_t other_stop, bool* ascii) {
  for (uint64_t high = 0;; at += 8) {
    const uint64_t word = eight_bytes(at);
    high |= word & kHighs;
    const uint64_t controls = (word - kOnes * 0x20) & ~word & kHighs;
    const uint64_t stops = controls | zero_bytes(word ^ stop) | zero_bytes(word ^ other_stop);
    if (stops == 0) continue;
    if (high != 0) *ascii = false;
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
  for (; digits == 8; at += digits) short_number(at, &digits);
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

// Behind the integer that begins here, as programs print it, or nullptr.
const char* read_integer(const char* at, int64_t* number) {
  constexpr int kMost = 18;  // digits that an int64 holds, whatever they are
  const bool negative = *at == '-';
  if (negative) ++at;
  const char* const begin = at;
  int digits = 0;
  int64_t value = short_number(at, &digits);
  if (digits == 8) {
    for (digits = 0; digits < kMost && is_digit(at[digits]); ++digits) value = value * 10 + (at[digits] - '0');
  }
  at += digits;
  if (digits == 0 || is_digit(*at) || (*begin == '0' && (digits > 1 || negative))) return nullptr;
  *number = negative ? -value : value;
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
    at = mark.text.data() + mark.text.size();
  }
  add_piece({at, static_cast<size_t>(record.data() + record.size() - at)});
}

void Pattern::add_piece(std::string_view text) {
  Piece piece;
  piece.bytes = text.size();
  for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), 8))) {
    Word word{};
    std::memcpy(&word.bytes, text.data(), std::min<size_t>(text.size(), 8));
    std::memset(&word.mask, 0xff, std::min<size_t>(text.size(), 8));
    words_.push_back(word);
    ++piece.words;
  }
  pieces_.push_back(piece);
}

size_t Pattern::match(std::string_view text, Record& record) const {
  const char* at = text.data();
  const char* const end = at + text.size();
  record.priority = 0;
  record.ascii = true;
  const Word* word = words_.data();
  for (const Piece& piece : pieces_) {
    if (end - at < static_cast<ptrdiff_t>(piece.bytes)) return 0;
    const char* from = at;
    for (const Word* const last = word + piece.words; word < last; ++word, from += 8) {
      if (((eight_bytes(from) ^ word->bytes) & word->mask) != 0) return 0;
    }
    at += piece.bytes;
    if (!read_hole(piece, at, record)) return 0;
  }
  record.count = count_;
  return static_cast<size_t>(at - text.data());
}

// What follows the hole is for the next piece to say.
inline bool Pattern::read_hole(const Piece& piece, const char*& at, Record& record) {
  const char* const begin = at;
  int64_t number = 0;
  switch (piece.hole) {
    case Hole::kNumber: {
      int digits = 0;
      record.numbers[piece.number] = short_number(at, &digits);
      at += digits;
      return digits > 0 && digits < 8 && (*begin != '0' || digits == 1);
    }
    case Hole::kItem:
    case Hole::kText:
      at = find_stop(at, piece.stop, piece.other_stop, &record.ascii);
      if (piece.hole == Hole::kText) return true;
      record.item = {begin, static_cast<size_t>(at - begin)};
      return at > begin;
    case Hole::kItemNumber:
      at = read_integer(at, &number);
      if (at != nullptr) record.item = {begin, static_cast<size_t>(at - begin)};
      return at != nullptr;
    case Hole::kPriority:
      at = read_integer(at, &record.priority);
      return at != nullptr;
    case Hole::kValue:
      at = skip_value(at, &record.ascii);
      return at != nullptr;
    case Hole::kEnd:
      break;
  }
  return true;
}

size_t Patterns::match(std::string_view text, Pattern::Record& record) {
  for (size_t i = 0; i < patterns_.size(); ++i) {
    const size_t bytes = patterns_[i].match(text, record);
    if (bytes == 0) continue;
    if (i > 0) std::swap(patterns_[i], patterns_[i - 1]);
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
  std::sort(marks.begin(), marks.end(), before);
  if (std::adjacent_find(marks.begin(), marks.end(), overlap) != marks.end()) return;
  if (std::none_of(marks.begin(), marks.end(), is_item)) return;
  if (patterns_.size() == kMost) patterns_.pop_back();
  patterns_.emplace(patterns_.begin(), record, marks);
}

}  // namespace importer
