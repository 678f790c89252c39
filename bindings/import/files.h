// Files that are read. Nothing is mapped, so that a file that is truncated meanwhile is an error, not a bus error.
// The command compiles these too. (Files that are written: support/output_file.h, which the core shares.)
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_FILES_H
#define SIDBEAM_IMPORT_FILES_H

#include <support/file_descriptor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace importer {

// A regular file in place, or the contents of a pipe in memory. Its size is the one when it was opened: bytes that are
// appended later are not seen, and bytes that are missing later are a Failure.
class InputFile {
 public:
  // `poll` is called while the file may keep the caller waiting, and throws to give up.
  using Poll = std::function<void()>;
  InputFile(const std::string& path, Poll poll);
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }
  void read(int64_t offset, void* out, int64_t bytes) const;
  // The first bytes, as many as there are.
  std::string head(int64_t most) const { return piece(0, std::min(most, size_)); }
  std::string piece(int64_t offset, int64_t bytes) const;

 private:
  void read_pipe();

  std::string path_;
  Poll poll_;
  sidbeam::FileDescriptor file_;
  int64_t size_ = 0;
  bool in_memory_ = false;
  std::vector<char> copy_;
};

// Text of a file, through a window of memory that grows when a line needs it. kPadding readable bytes follow the
// window, as simdjson needs, of which the first is a line's end.
class TextReader {
 public:
  static constexpr size_t kPadding = 64;

  // Begins after a byte order mark, if there is one.
  explicit TextReader(const InputFile& file);

  // The text that comes next, as far as it is in memory. Valid until the next call that is not const.
  std::string_view window() const { return {buffer_.data() + begin_, end_ - begin_}; }
  // More of it, while there is more.
  bool extend();
  // Whether the window reaches the end of the file.
  bool complete() const { return read_ == file_.size(); }
  void skip(size_t bytes) { begin_ += bytes; }
  // The next line, without its end; false at the end of the file. Valid as long as a window is.
  bool next_line(std::string_view& line);
  // Whether the window has the end of a line.
  bool has_line() const { return window().find('\n') != std::string_view::npos; }
  // Bytes before the window, for a progress bar.
  int64_t position() const { return read_ - static_cast<int64_t>(end_ - begin_); }

 private:
  const InputFile& file_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // the window within it
  int64_t read_ = 0;            // bytes of the file that have been read
};

}  // namespace importer

#endif
