// SPDX-License-Identifier: Apache-2.0
#include "support/guard.h"

#include <cstring>

namespace sidbeam {
namespace {

// Bytes of the UTF-8 character that begins here; 0 where none does. `text` ends with a NUL, which no character holds.
size_t character_bytes(const unsigned char* text) {
  if (text[0] < 0x80) return 1;
  const size_t bytes = text[0] >= 0xF0 && text[0] < 0xF5 ? 4 : text[0] >= 0xE0 && text[0] < 0xF0 ? 3 : 2;
  if (text[0] < 0xC2 || text[0] > 0xF4) return 0;
  for (size_t i = 1; i < bytes; ++i)
    if ((text[i] & 0xC0) != 0x80) return 0;
  return bytes;
}

// Copies a message as one line of whole UTF-8 characters: paths may hold anything, and a message may have been cut.
void copy_line(const char* message, char* out, size_t size) {
  const auto* text = reinterpret_cast<const unsigned char*>(message);
  size_t end = 0;
  while (*text != 0) {
    const size_t bytes = character_bytes(text);
    if (end + (bytes > 0 ? bytes : 1) >= size) break;
    if (bytes == 0 || *text < 0x20 || *text == 0x7F) {
      out[end++] = '?';
      ++text;
    } else {
      std::memcpy(out + end, text, bytes);
      end += bytes;
      text += bytes;
    }
  }
  out[end] = '\0';
}

}  // namespace

sidbeam_status report(sidbeam_error* err, sidbeam_status status, const char* message) noexcept {
  if (err == nullptr || err->struct_size < kFirstBytes<sidbeam_error>) return status;
  sidbeam_error written{};
  written.code = status;
  copy_line(message, written.message, sizeof written.message);
  write_struct(written, err);
  return status;
}

}  // namespace sidbeam
