// Writing the file of shared cases: records of named arrays, a line each. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <sidbeam/sidbeam.h>

namespace shared_cases {

class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out) {}

  void comment(std::string_view text);
  void record(const std::string& kind) { field("record", kind); }
  // Arrays; data nullptr is an array that was not given, and has no line. Floats go as their bits.
  void field(const char* name, const int32_t* data, int64_t count);
  void field(const char* name, const int64_t* data, int64_t count);
  void field(const char* name, const float* data, int64_t count);
  void field(const char* name, const std::vector<std::string>& values);
  void elements(const char* name, int32_t dtype, const void* data, int64_t count);
  // One value.
  void field(const char* name, int32_t value) { field(name, &value, 1); }
  void field(const char* name, int64_t value) { field(name, &value, 1); }
  void field(const char* name, float value) { field(name, &value, 1); }
  void field(const char* name, const std::string& value) { field(name, std::vector<std::string>{value}); }

 private:
  template <typename Bits>
  void line(const char* name, const char* type, const void* data, int64_t count);

  std::ostream& out_;
};

}  // namespace shared_cases
