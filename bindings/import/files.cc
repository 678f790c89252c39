// Files that are read.
// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "failure.h"

namespace importer {
namespace {

// What a core's cache holds beside a batch: 2^20 was up to 5 % slower.
constexpr size_t kBuffer = size_t{1} << 18;

[[noreturn]] void fail_errno(const std::string& path, const char* what, int code) {
  throw Failure("'" + path + "': cannot " + what + ": " + std::strerror(code), SIDBEAM_IO_ERROR);
}

}  // namespace

// Not open_at: an interrupt must end the wait for a pipe's writer.
InputFile::InputFile(const std::string& path, Poll poll)
    : path_(path), poll_(std::move(poll)), file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  while (file_.get() < 0 && errno == EINTR) {
    poll_();
    file_ = sidbeam::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (file_.get() < 0) fail_errno(path, "open", errno);
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail_errno(path, "stat", errno);
  if (S_ISDIR(status.st_mode)) fail_errno(path, "read", EISDIR);
  size_ = status.st_size;
  // Files of /proc and similar ones have no size.
  in_memory_ = !S_ISREG(status.st_mode) || size_ == 0;
  if (in_memory_) read_pipe();
}

void InputFile::read_pipe() {
  size_t size = 0;
  for (;;) {
    copy_.resize(size + kBuffer);
    const ssize_t got = ::read(file_.get(), copy_.data() + size, kBuffer);
    poll_();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(path_, "read", errno);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  copy_.resize(size);
  size_ = static_cast<int64_t>(size);
}

void InputFile::read(int64_t offset, void* out, int64_t bytes) const {
  auto* to = static_cast<char*>(out);
  if (in_memory_) {
    std::copy_n(copy_.data() + offset, bytes, to);
    return;
  }
  while (bytes > 0) {
    const ssize_t got = ::pread(file_.get(), to, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) {
      poll_();
      continue;
    }
    if (got < 0) fail_errno(path_, "read", errno);
    if (got == 0) {
      throw Failure("'" + path_ + "': cannot read: it ends at byte " + std::to_string(offset) + ", expected " +
                        std::to_string(size_) + " as when it was opened",
                    SIDBEAM_IO_ERROR);
    }
    to += got;
    offset += got;
    bytes -= got;
  }
}

std::string InputFile::piece(int64_t offset, int64_t bytes) const {
  std::string text(static_cast<size_t>(bytes), '\0');
  read(offset, text.data(), bytes);
  return text;
}

TextReader::TextReader(const InputFile& file) : file_(file) {
  if (file.head(3) == "\xef\xbb\xbf") read_ = 3;
}

bool TextReader::extend() {
  if (complete()) return false;
  std::move(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  // Doubles, so that a long line is not moved often.
  const auto bytes = std::min(file_.size() - read_, static_cast<int64_t>(std::max(kBuffer, end_)));
  const size_t needed = end_ + static_cast<size_t>(bytes) + kPadding;
  if (buffer_.size() < needed) buffer_.resize(needed);
  file_.read(read_, buffer_.data() + end_, bytes);
  end_ += static_cast<size_t>(bytes);
  buffer_[end_] = '\n';
  read_ += bytes;
  return true;
}

bool TextReader::next_line(std::string_view& line) {
  size_t searched = 0, end = std::string_view::npos;
  while ((end = window().find('\n', searched)) == std::string_view::npos) {
    searched = window().size();
    if (!extend()) break;
  }
  if (end == std::string_view::npos && window().empty()) return false;
  line = window().substr(0, end);
  skip(std::min(line.size() + 1, window().size()));
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return true;
}

}  // namespace importer
