// SPDX-License-Identifier: Apache-2.0
#include "line.h"

#include <cstdint>
#include <string>

namespace fuzz {
namespace {

// Control characters, and characters that break a line or turn the direction of writing.
bool is_obeyed(uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x61C || code == 0x200E || code == 0x200F ||
         (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

}  // namespace

bool is_line(const std::string& text) {
  if (text.empty() || text.find('\0') != text.npos) return false;
  for (const auto* at = reinterpret_cast<const uint8_t*>(text.c_str()); *at != 0;) {
    const int more = *at < 0x80 ? 0 : *at >= 0xF0 ? 3 : *at >= 0xE0 ? 2 : 1;
    if ((*at >= 0x80 && *at < 0xC2) || *at > 0xF4) return false;
    uint32_t code = more == 0 ? *at : *at & 0x3Fu >> more;
    ++at;
    for (int i = 0; i < more; ++i, ++at) {
      if ((*at & 0xC0) != 0x80) return false;
      code = code << 6 | (*at & 0x3Fu);
    }
    if (is_obeyed(code)) return false;
  }
  return true;
}

}  // namespace fuzz
