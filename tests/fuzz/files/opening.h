// Bytes opened as an index in every way there is, and traps around its sections.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "../specimens.h"

namespace fuzz {

enum class Way { kBorrow, kCopyOfMemory, kMap, kPrefault, kLock, kCopyOfFile };
constexpr int kWays = 6;

// A file in memory, of a name that every process of this one may open.
class MemoryFile {
 public:
  explicit MemoryFile(const char* name);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();
  void write(const uint8_t* data, size_t size) const;
  const std::string& path() const { return path_; }

 private:
  int fd_;
  std::string path_;
};

class Opened {
 public:
  Opened(const uint8_t* data, size_t size, Way way, int32_t verify);
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened();

  sidbeam_status status() const { return status_; }
  const char* message() const { return err_.message; }
  sidbeam_index* index() const { return index_.get(); }

  // From now on a read of this index's bytes outside a known section traps. Verification reads the bytes before,
  // between and after sections, and needs disarm().
  void arm();
  void disarm();

 private:
  void find_bytes(Way way);

  Block block_;
  size_t size_;
  sidbeam_status status_;
  sidbeam_error err_ = SIDBEAM_ERROR_INIT;
  Handle<sidbeam_index> index_;
  const uint8_t* bytes_ = nullptr;  // what the index reads
  bool armed_ = false;
};

}  // namespace fuzz
