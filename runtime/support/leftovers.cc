// The kernel drops a lock (flock) with the last descriptor of the file that has it, however its process ended.
// (Alternative: a process id in the name. It is unknown in another container, and is reused.)
// SPDX-License-Identifier: Apache-2.0
#include "support/leftovers.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>
#include <utility>

#include "support/file_descriptor.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

constexpr std::string_view kPrefix = ".sidbeam-", kSuffix = ".tmp";
constexpr size_t kNumberDigits = 16;
constexpr time_t kDay = 24 * 60 * 60;

bool is_temporary(std::string_view name) {
  if (name.size() != kPrefix.size() + kNumberDigits + kSuffix.size()) return false;
  if (name.substr(0, kPrefix.size()) != kPrefix || name.substr(kPrefix.size() + kNumberDigits) != kSuffix) return false;
  return name.substr(kPrefix.size(), kNumberDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Whether only this machine writes to the folder, so that a lock that is free here is free everywhere. Network file
// systems may be mounted with locks that other machines cannot see.
bool is_local(int folder) {
  constexpr long kZfs = 0x2fc12fc1, kXfs = 0x58465342;
  struct statfs system {};
  if (::fstatfs(folder, &system) != 0) return false;
  switch (static_cast<long>(system.f_type)) {
    case EXT4_SUPER_MAGIC:
    case kXfs:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case kZfs:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
      return true;
    default:
      return false;
  }
}

void sweep(int folder, const char* name, bool local) {
  // Opened for writing, because locks on NFS require it; but it may have taken over the mode of a read-only file.
  // O_NONBLOCK, because it may be a pipe.
  constexpr int kFlags = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  FileDescriptor file = open_at(folder, name, O_RDWR | kFlags);
  if (file.get() < 0 && errno == EACCES) file = open_at(folder, name, O_RDONLY | kFlags);
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  if (!local && std::time(nullptr) - status.st_mtime < kDay) return;
  // A writer that has opened its file and not yet locked it finds that it is locked or has no name, and takes another.
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlinkat(folder, name, 0);
}

}  // namespace

std::string temporary_name() {
  char digits[kNumberDigits + 1];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(secret_number()));
  return std::string(kPrefix) + digits + std::string(kSuffix);
}

void TemporaryName::set(int folder, std::string name) {
  remove();
  folder_ = folder;
  name_ = std::move(name);
}

void TemporaryName::remove() {
  if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);
  name_.clear();
}

bool claim(int file) { return ::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; }

void sweep_leftovers(int folder) {
  const int fd = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  DIR* const stream = ::fdopendir(fd);
  if (stream == nullptr) {
    ::close(fd);
    return;
  }
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(stream, ::closedir);
  const bool local = is_local(folder);
  while (const dirent* const entry = ::readdir(entries.get()))
    if (is_temporary(entry->d_name)) sweep(folder, entry->d_name, local);
}

}  // namespace sidbeam
