// Lines of the file of shared cases.
// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <cctype>
#include <cstring>

namespace shared_cases {
namespace {

// Everything but letters, digits and -_. as %XX.
std::string percent_encoded(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 128 && (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.')) {
      encoded += c;
    } else {
      encoded += {'%', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return encoded;
}

}  // namespace

void Writer::comment(std::string_view text) { out_ << "# " << text << '\n'; }

template <typename Bits>
void Writer::line(const char* name, const char* type, const void* data, int64_t count) {
  if (data == nullptr) return;
  out_ << name << ' ' << type << ' ' << count;
  for (int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, static_cast<const char*>(data) + i * static_cast<int64_t>(sizeof bits), sizeof bits);
    out_ << ' ' << bits;
  }
  out_ << '\n';
}

void Writer::field(const char* name, const int32_t* data, int64_t count) { line<int32_t>(name, "i32", data, count); }
void Writer::field(const char* name, const int64_t* data, int64_t count) { line<int64_t>(name, "i64", data, count); }
void Writer::field(const char* name, const float* data, int64_t count) {
  elements(name, SIDBEAM_DTYPE_F32, data, count);
}

void Writer::field(const char* name, const std::vector<std::string>& values) {
  out_ << name << " str " << values.size();
  for (const std::string& value : values) out_ << ' ' << percent_encoded(value);
  out_ << '\n';
}

void Writer::elements(const char* name, int32_t dtype, const void* data, int64_t count) {
  if (dtype == SIDBEAM_DTYPE_F32) {
    line<uint32_t>(name, "f32", data, count);
  } else {
    line<uint16_t>(name, dtype == SIDBEAM_DTYPE_F16 ? "f16" : "bf16", data, count);
  }
}

}  // namespace shared_cases
