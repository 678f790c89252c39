// Files in and out.
// SPDX-License-Identifier: Apache-2.0
#include "files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "failure.h"
#include "interrupt.h"

namespace cli {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;

[[noreturn]] void fail_errno(const std::string& path, const char* what, int code) {
  throw Failure("'" + path + "': " + what + ": " + std::strerror(code));
}

struct Descriptor {
  int fd;
  ~Descriptor() { ::close(fd); }
};

void write_all(int fd, const char* bytes, size_t count, const std::string& path) {
  while (count > 0) {
    const ssize_t written = ::write(fd, bytes, count);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_errno(path, "cannot write", errno);
    bytes += written;
    count -= static_cast<size_t>(written);
  }
}

}  // namespace

FileBytes::FileBytes(const std::string& path) : path_(path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    throw_if_interrupted();
    fail_errno(path, "cannot open", errno);
  }
  const Descriptor descriptor{fd};
  struct stat status {};
  if (::fstat(fd, &status) != 0) fail_errno(path, "cannot read", errno);
  if (S_ISDIR(status.st_mode)) fail_errno(path, "cannot read", EISDIR);
  size_ = static_cast<size_t>(status.st_size);
  if (S_ISREG(status.st_mode) && size_ > 0) {
    map(fd);
  } else {
    read_all(fd);
  }
}

FileBytes::~FileBytes() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
}

// Zero pages are mapped first and the file over their head: reading past the end of a mapping of the file alone would
// be a bus error where the file ends near a page's end.
void FileBytes::map(int fd) {
  mapped_ = size_ + kPadding;
  void* zeros = ::mmap(nullptr, mapped_, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (zeros == MAP_FAILED) fail_errno(path_, "cannot map", errno);
  mapping_ = zeros;
  if (::mmap(zeros, size_, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED) {
    const int code = errno;
    ::munmap(mapping_, mapped_);
    fail_errno(path_, "cannot map", code);
  }
  ::madvise(zeros, size_, MADV_SEQUENTIAL);
  data_ = static_cast<const char*>(zeros);
}

void FileBytes::read_all(int fd) {
  size_ = 0;
  for (;;) {
    copy_.resize(size_ + kBuffer);
    const ssize_t got = ::read(fd, copy_.data() + size_, kBuffer);
    throw_if_interrupted();
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_errno(path_, "cannot read", errno);
    if (got == 0) break;
    size_ += static_cast<size_t>(got);
  }
  copy_.resize(size_ + kPadding);
  data_ = copy_.data();
}

OutputFile::OutputFile(const std::string& path) : path_(path), temporary_(path + ".XXXXXX") {
  check_output(path);
  fd_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (fd_ < 0) fail_errno(path, "cannot create", errno);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ::fchmod(fd_, 0666 & ~mask);
}

OutputFile::~OutputFile() {
  if (mapping_ != nullptr) ::munmap(mapping_, mapped_);
  if (fd_ >= 0) {
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }
}

void OutputFile::fail(const char* what) const { fail_errno(path_, what, errno); }

void OutputFile::write(const void* bytes, size_t count) {
  const char* from = static_cast<const char*>(bytes);
  buffer_.insert(buffer_.end(), from, from + count);
  if (buffer_.size() >= kBuffer) flush();
}

void OutputFile::flush() {
  write_all(fd_, buffer_.data(), buffer_.size(), path_);
  buffer_.clear();
}

char* OutputFile::map(size_t bytes) {
  int code;
  do {
    code = ::posix_fallocate(fd_, 0, static_cast<off_t>(bytes));
    throw_if_interrupted();
  } while (code == EINTR);
  if (code != 0) fail_errno(path_, "cannot write", code);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (memory == MAP_FAILED) fail("cannot map");
  mapped_ = bytes;
  return mapping_ = static_cast<char*>(memory);
}

void OutputFile::commit() {
  flush();
  if (::fsync(fd_) != 0) fail("cannot write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename");
  ::close(fd_);
  fd_ = -1;
}

void check_output(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) throw Failure("'" + path + "': expected a file to write, it is a directory");
  if (!S_ISREG(status.st_mode)) throw Failure("'" + path + "': expected a file to write, it is a device or a pipe");
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat x {
  }, y{};
  return ::stat(a.c_str(), &x) == 0 && ::stat(b.c_str(), &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

}  // namespace cli
