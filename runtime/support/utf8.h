// Characters of UTF-8 in bytes that others wrote.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sidbeam {

struct Character {
  uint32_t code;
  size_t bytes;
};

inline constexpr uint32_t kNoCharacter = ~uint32_t{0};

// The character that `text`, not empty, begins with; {kNoCharacter, 1} where that is no UTF-8.
inline Character first_character(std::string_view text) {
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

// Whether all of `text` is UTF-8.
inline bool is_utf8(std::string_view text) {
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
