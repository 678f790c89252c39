// Folders of checkpoints that a test writes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "support/error.h"

namespace sidbeam::runner {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "sidbeam-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { std::filesystem::remove_all(path_); }

  const char* path() const { return path_.c_str(); }
  std::string path(const std::string& name) const { return path_ + "/" + name; }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

 private:
  std::string path_;
};

inline std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The bytes of a safetensors file.
inline std::string safetensors(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + data;
}

// What `call` throws has this status, and says this.
template <class Call>
void expect_failure(sidbeam_status status, const std::string& phrase, const Call& call) {
  try {
    call();
    ADD_FAILURE() << "nothing was refused; expected: " << phrase;
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, status) << failure.message;
    EXPECT_NE(std::string(failure.message).find(phrase), std::string::npos) << failure.message << "\nlacks " << phrase;
  }
}

}  // namespace sidbeam::runner
