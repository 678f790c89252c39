// SPDX-License-Identifier: Apache-2.0
#include "support/escape.h"

#include <cstdint>
#include <cstring>

#include "support/utf8.h"

namespace sidbeam {
namespace {

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

}  // namespace sidbeam
