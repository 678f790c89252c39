// Files in and out: whole files as bytes, and files that appear only when they are complete.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_FILES_H
#define SIDBEAM_CLI_FILES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// The bytes of a file, mapped where that can be (pipes are read). kPadding readable bytes follow them, as simdjson
// needs.
class FileBytes {
 public:
  static constexpr size_t kPadding = 64;

  explicit FileBytes(const std::string& path);
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  const std::string& path() const { return path_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view text() const { return {data_, size_}; }

 private:
  void map(int fd);
  void read_all(int fd);

  std::string path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  void* mapping_ = nullptr;
  size_t mapped_ = 0;
  std::vector<char> copy_;
};

// A file written beside its name and renamed to it by commit(). Without that, nothing is left of it.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  void write(const void* bytes, size_t count);
  // The whole file as memory, zeroed, its space allocated so that writing cannot fail. Instead of write().
  char* map(size_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  void flush();

  std::string path_, temporary_;
  int fd_ = -1;
  std::vector<char> buffer_;
  char* mapping_ = nullptr;
  size_t mapped_ = 0;
};

// Throws unless `path` can be replaced by a new file: it is absent or a regular file. Renaming a file over a device
// would remove the device.
void check_output(const std::string& path);

bool same_file(const std::string& a, const std::string& b);

}  // namespace cli

#endif
