// SPDX-License-Identifier: Apache-2.0
#include "support/escape.h"

#include <cstdint>
#include <cstring>

namespace sidbeam {
namespace {

struct Character {
  uint32_t code;
  size_t bytes;
};

constexpr uint32_t kNoCharacter = ~uint32_t{0};

// The character that `text`, not empty, begins with; {kNoCharacter, 1} where that is no UTF-8.
Character first_character(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes) return {kNoCharacter, 1};
  uint32_t code = lead & (0x7Fu >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {kNoCharacter, 1};
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) return {kNoCharacter, 1};
  return {code, bytes};
}

bool is_plain(uint32_t code) {
  struct CodePoints {
    uint32_t first, last;
  };
  // The last five: marks of direction, line and paragraph separators with embeddings and overrides, isolates.
  static constexpr CodePoints kObeyed[] = {{0, 0x1F},
                                           {0x7F, 0x9F},
                                           {0x61C, 0x61C},
                                           {0x200E, 0x200F},
                                           {0x2028, 0x202E},
                                           {0x2066, 0x2069},
                                           {kNoCharacter, kNoCharacter}};
  for (const CodePoints& range : kObeyed)
    if (code >= range.first && code <= range.last) return false;
  return true;
}

// Hands the escaped text to `sink(bytes, count)` piece by piece, until that returns false.
template <class Sink>
void escape(std::string_view text, const Sink& sink) {
  constexpr const char* kHex = "0123456789abcdef";
  while (!text.empty()) {
    const Character character = first_character(text);
    if (is_plain(character.code)) {
      if (!sink(text.data(), character.bytes)) return;
    } else {
      for (size_t i = 0; i < character.bytes; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const char code[] = {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
        if (!sink(code, sizeof code)) return;
      }
    }
    text.remove_prefix(character.bytes);
  }
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  escape(text, [&out](const char* bytes, size_t count) {
    out.append(bytes, count);
    return true;
  });
  return out;
}

void escape_into(std::string_view text, char* out, size_t size) {
  size_t end = 0;
  escape(text, [&](const char* bytes, size_t count) {
    if (end + count >= size) return false;
    std::memcpy(out + end, bytes, count);
    end += count;
    return true;
  });
  out[end] = '\0';
}

bool is_utf8(std::string_view text) {
  constexpr uint64_t kHighs = 0x8080808080808080;
  while (!text.empty()) {
    uint64_t eight = kHighs;
    if (text.size() >= sizeof eight) std::memcpy(&eight, text.data(), sizeof eight);
    if ((eight & kHighs) == 0) {
      text.remove_prefix(sizeof eight);  // all of them ASCII
      continue;
    }
    const Character character = first_character(text);
    if (character.code == kNoCharacter) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

}  // namespace sidbeam
