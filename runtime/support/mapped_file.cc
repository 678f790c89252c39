// SPDX-License-Identifier: Apache-2.0
#include "support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "support/error.h"

namespace sidbeam {
namespace {

[[noreturn]] void io_error(const char* action, const char* path, int error) {
  fail(SIDBEAM_IO_ERROR, "cannot %s '%.300s': %s", action, path, strerrordesc_np(error));
}

}  // namespace

InputFile open_file(const char* path) {
  // O_NONBLOCK: opening a pipe would wait for its writer.
  FileDescriptor descriptor = open_at(AT_FDCWD, path, O_RDONLY | O_NONBLOCK);
  if (descriptor.get() < 0) io_error("open", path, errno);
  struct stat status {};
  if (::fstat(descriptor.get(), &status) != 0) io_error("stat", path, errno);
  if (S_ISDIR(status.st_mode)) io_error("open", path, EISDIR);
  if (!S_ISREG(status.st_mode)) fail(SIDBEAM_IO_ERROR, "cannot open '%.300s': not a regular file", path);
  return {std::move(descriptor),
          status.st_size,
          {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec}};
}

void read_file(const InputFile& file, const char* path, int64_t offset, void* out, int64_t bytes) {
  constexpr int64_t kReadAtOnce = int64_t{1} << 26;
  int64_t done = 0;
  while (done < bytes) {
    const auto piece = static_cast<size_t>(std::min(bytes - done, kReadAtOnce));
    const ssize_t got = ::pread(file.descriptor.get(), static_cast<char*>(out) + done, piece, offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) io_error("read", path, errno);
    if (got == 0)
      fail(SIDBEAM_IO_ERROR, "cannot read '%.300s': it ended at byte %lld while it was read", path,
           static_cast<long long>(offset + done));
    done += got;
  }
}

Mapping::Mapping(const InputFile& file, const char* path, bool prefault) : bytes_(file.bytes) {
  void* memory = ::mmap(nullptr, static_cast<size_t>(bytes_), PROT_READ, MAP_PRIVATE | (prefault ? MAP_POPULATE : 0),
                        file.descriptor.get(), 0);
  if (memory == MAP_FAILED) io_error("map", path, errno);
  data_ = static_cast<const uint8_t*>(memory);
}

Mapping::~Mapping() {
  if (data_ != nullptr) unmap(data_, bytes_);
}

void Mapping::lock(const char* path) const {
  if (::mlock(data_, static_cast<size_t>(bytes_)) != 0)
    fail(SIDBEAM_IO_ERROR, "cannot lock the %lld bytes of '%.300s' in memory: %s (see ulimit -l)",
         static_cast<long long>(bytes_), path, strerrordesc_np(errno));
}

void unmap(const uint8_t* data, int64_t bytes) { ::munmap(const_cast<uint8_t*>(data), static_cast<size_t>(bytes)); }

}  // namespace sidbeam
