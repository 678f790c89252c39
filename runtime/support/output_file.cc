// The long phase happens in a file without a name (O_TMPFILE) where the file system has that, so that even SIGKILL
// leaves nothing; the name beside the target lives from linkat to rename. Writing with pwrite from a buffer was the
// alternative: it needs the whole index in memory twice.
// SPDX-License-Identifier: Apache-2.0
#include "support/output_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "support/error.h"

namespace sidbeam {
namespace {

std::string directory_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A short name of its own, since the target's with a suffix could be longer than the file system allows.
std::string temporary_name(const std::string& directory) {
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number) number = static_cast<uint64_t>(::getpid());
  char name[40];
  std::snprintf(name, sizeof name, "/.sidbeam-%016llx.tmp", static_cast<unsigned long long>(number));
  return directory + name;
}

constexpr int kAttempts = 16;

}  // namespace

OutputFile::OutputFile(const char* path) : path_(path) {
  if (path_.empty()) failed("create", ENOENT);
  struct stat status {};
  const bool exists = ::stat(path, &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) failed("create", EISDIR);
  // A rename would put a file in the place of a device or a pipe.
  if (exists && !S_ISREG(status.st_mode)) fail(SIDBEAM_IO_ERROR, "cannot replace '%.300s': it is not a file", path);
  if (exists) follow_links();
  directory_ = directory_of(path_);
  create();
  // Who could not read the old file cannot read the new one.
  if (exists && ::fchmod(file_.get(), status.st_mode & 07777) != 0) failed("create", errno);
}

// Replaces what a symbolic link points to, and keeps the link.
void OutputFile::follow_links() {
  char real[PATH_MAX];
  if (::realpath(path_.c_str(), real) == nullptr) {
    if (errno == ENOMEM) throw std::bad_alloc();
    failed("create", errno);
  }
  path_ = real;
}

OutputFile::~OutputFile() {
  if (data_ != nullptr) unmap(data_, bytes_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::failed(const char* action, int error) const {
  fail(SIDBEAM_IO_ERROR, "cannot %s '%.300s': %s", action, path_.c_str(), strerrordesc_np(error));
}

void OutputFile::create() {
  // A file without a name gets one through /proc.
  if (::access("/proc/self/fd", X_OK) == 0)
    file_ = FileDescriptor(::open(directory_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
  for (int attempt = 0; file_.get() < 0 && attempt < kAttempts; ++attempt) {
    std::string name = temporary_name(directory_);
    file_ = FileDescriptor(::open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0666));
    if (file_.get() >= 0) {
      temporary_ = std::move(name);
    } else if (errno != EEXIST) {
      break;
    }
  }
  if (file_.get() < 0) failed("create", errno);
}

void OutputFile::allocate(int64_t bytes) {
  bytes_ = bytes;
  int error = 0;
  do {
    error = ::posix_fallocate(file_.get(), 0, bytes_);
  } while (error == EINTR);
  if (error != 0) {
    fail(SIDBEAM_IO_ERROR, "cannot write the %lld bytes of '%.300s': %s", static_cast<long long>(bytes_), path_.c_str(),
         strerrordesc_np(error));
  }
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
  if (memory == MAP_FAILED) failed("map", errno);
  data_ = static_cast<uint8_t*>(memory);
}

void OutputFile::sync() {
  if (::msync(data_, static_cast<size_t>(bytes_), MS_SYNC) != 0 || ::fsync(file_.get()) != 0) failed("write", errno);
}

void OutputFile::commit() {
  const FileDescriptor directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  char self[40];
  std::snprintf(self, sizeof self, "/proc/self/fd/%d", file_.get());
  for (int attempt = 0; temporary_.empty(); ++attempt) {
    std::string name = temporary_name(directory_);
    if (::linkat(AT_FDCWD, self, AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = std::move(name);
    } else if (errno != EEXIST || attempt == kAttempts) {
      failed("create", errno);
    }
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) failed("create", errno);
  temporary_.clear();
  // The new file is complete whatever this says; a folder that cannot be opened or synced only delays its name.
  if (directory.get() >= 0) ::fsync(directory.get());
}

}  // namespace sidbeam
