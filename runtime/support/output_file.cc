// Writing happens in a file without a name (O_TMPFILE) if the file system supports it, so that even SIGKILL leaves
// nothing behind; the name beside the target exists only from linkat to rename. All calls are relative to an open
// folder, which may be moved meanwhile.
// SPDX-License-Identifier: Apache-2.0
#include "support/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "support/error.h"
#include "support/file_attributes.h"
#include "support/leftovers.h"

namespace sidbeam {
namespace {

constexpr int kAttempts = 16;
constexpr int kMostLinks = 40;  // as many as the kernel follows
constexpr unsigned kNewMode = 0666, kPrivateMode = 0600;

}  // namespace

OutputFile::OutputFile(const char* path, bool allow_attribute_loss) : path_(path) {
  find_place();
  struct stat old {};
  replaces_ = find_old(old);
  sweep_leftovers(folder_.get());
  // Nobody who may not open the old file may open the new one, even before its mode is set.
  create(replaces_ ? kPrivateMode : kNewMode);
  if (replaces_)
    mode_ = keep_attributes({folder_.get(), name_.c_str(), path_.c_str(), old}, file_.get(), allow_attribute_loss);
}

void OutputFile::failed(const char* action, int error) const {
  fail(SIDBEAM_IO_ERROR, "cannot %s '%.300s': %s", action, path_.c_str(), strerrordesc_np(error));
}

// Opens the folder of the file to which the path's last links lead. The kernel follows links in the folders of the
// path.
void OutputFile::find_place() {
  if (path_.empty()) failed("create", ENOENT);
  std::string path = path_;
  for (int links = 0;; ++links) {
    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    name_ = slash == std::string::npos ? path : path.substr(slash + 1);
    const int from = folder_.get() < 0 ? AT_FDCWD : folder_.get();
    FileDescriptor next = open_at(from, folder.c_str(), O_RDONLY | O_DIRECTORY);
    folder_is_readable_ = next.get() >= 0;
    if (next.get() < 0 && errno == EACCES) next = open_at(from, folder.c_str(), O_PATH | O_DIRECTORY);
    if (next.get() < 0) failed("create", errno);
    folder_ = std::move(next);
    if (name_.empty() || name_ == "." || name_ == "..") failed("create", EISDIR);
    char target[PATH_MAX];
    const ssize_t bytes = ::readlinkat(folder_.get(), name_.c_str(), target, sizeof target);
    if (bytes < 0 && errno != EINVAL && errno != ENOENT) failed("readlink", errno);
    if (bytes < 0) return;
    if (links == kMostLinks) failed("create", ELOOP);
    path.assign(target, static_cast<size_t>(bytes));
  }
}

// Whether there is a file to replace. Anything but a file is an error, because a rename would replace a device or a
// pipe.
bool OutputFile::find_old(struct stat& old) const {
  struct stat given {};
  const bool exists = ::stat(path_.c_str(), &given) == 0;
  if (!exists && errno != ENOENT) failed("stat", errno);
  if (exists && S_ISDIR(given.st_mode)) failed("create", EISDIR);
  if (exists && !S_ISREG(given.st_mode))
    fail(SIDBEAM_IO_ERROR, "cannot replace '%.300s': it is not a file", path_.c_str());
  if (::fstatat(folder_.get(), name_.c_str(), &old, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno != ENOENT) failed("stat", errno);
    // A link of /proc leads to a file, but its text need not name one.
    if (exists) fail(SIDBEAM_IO_ERROR, "cannot replace '%.300s': the file has no name", path_.c_str());
    return false;
  }
  if (!exists || old.st_dev != given.st_dev || old.st_ino != given.st_ino)
    fail(SIDBEAM_IO_ERROR, "cannot replace '%.300s': it changed while it was looked at", path_.c_str());
  return true;
}

void OutputFile::create(unsigned mode) {
  // A file without a name gets one through /proc.
  if (::access("/proc/self/fd", X_OK) == 0) file_ = open_at(folder_.get(), ".", O_TMPFILE | O_RDWR, mode);
  if (file_.get() >= 0) {
    claim(file_.get());  // nobody else can reach it
    return;
  }
  for (int attempt = 0; attempt < kAttempts; ++attempt)
    if (create_named(mode)) return;
  failed("create", EEXIST);
}

// False if the name was taken, or if another process swept the file first.
bool OutputFile::create_named(unsigned mode) {
  const std::string name = temporary_name();
  FileDescriptor file = open_at(folder_.get(), name.c_str(), O_CREAT | O_EXCL | O_RDWR, mode);
  if (file.get() < 0 && errno == EEXIST) return false;
  if (file.get() < 0) failed("create", errno);
  temporary_.set(folder_.get(), name);
  struct stat status {};
  const bool claimed = claim(file.get());
  if (::fstat(file.get(), &status) != 0) failed("stat", errno);
  if (!claimed || status.st_nlink == 0) {
    temporary_.remove();
    return false;
  }
  file_ = std::move(file);
  return true;
}

void OutputFile::reserve(int64_t bytes) {
  // Not posix_fallocate: without support of the file system it writes one byte per block, and promises what it cannot
  // keep.
  if (TEMP_FAILURE_RETRY(::fallocate(file_.get(), 0, 0, bytes)) == 0) return;
  if (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL || errno == EPERM) return;
  const int error = errno;
  fail(SIDBEAM_IO_ERROR, "cannot allocate the %lld bytes of '%.300s': %s", static_cast<long long>(bytes), path_.c_str(),
       strerrordesc_np(error));
}

void OutputFile::write(const void* data, int64_t bytes) {
  constexpr int64_t kWrittenAtOnce = int64_t{1} << 26;
  const auto* from = static_cast<const char*>(data);
  while (bytes > 0) {
    const auto piece = static_cast<size_t>(std::min(bytes, kWrittenAtOnce));
    const ssize_t put = TEMP_FAILURE_RETRY(::pwrite(file_.get(), from, piece, written_));
    if (put <= 0) failed("write", put < 0 ? errno : EIO);
    from += put;
    bytes -= put;
    written_ += put;
  }
}

void OutputFile::sync() {
  // Writing took a set-user-id bit away.
  if (mode_ > 0777 && ::fchmod(file_.get(), mode_) != 0) failed("set the mode of", errno);
  if (TEMP_FAILURE_RETRY(::fsync(file_.get())) != 0) failed("sync", errno);
}

void OutputFile::commit() {
  for (int attempt = 0; temporary_.empty(); ++attempt) {
    if (attempt == kAttempts) failed("link", EEXIST);
    give_name();
  }
  may_be_there_ = true;
  if (::renameat(folder_.get(), temporary_.text(), folder_.get(), name_.c_str()) != 0) failed("rename", errno);
  there_ = true;
  temporary_.renamed();
  sync_folder();
}

bool OutputFile::withdraw() {
  if (may_be_there_ && !replaces_) ::unlinkat(folder_.get(), name_.c_str(), 0);
  return there_ && replaces_;
}

// Leaves the file without a name if the one tried is taken. After any other failure the name may still exist, since a
// server's answer may be lost; it is removed with the object.
void OutputFile::give_name() {
  char self[40];
  std::snprintf(self, sizeof self, "/proc/self/fd/%d", file_.get());
  std::string name = temporary_name();
  const int error = ::linkat(AT_FDCWD, self, folder_.get(), name.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
  if (error == EEXIST) return;
  temporary_.set(folder_.get(), std::move(name));
  if (error != 0) failed("link", error);
}

void OutputFile::sync_folder() const {
  // A folder that is writable but not readable cannot be synced by itself.
  const auto sync = [this] { return folder_is_readable_ ? ::fsync(folder_.get()) : ::syncfs(file_.get()); };
  // EINVAL: the file system does not support syncing folders.
  if (TEMP_FAILURE_RETRY(sync()) == 0 || errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) return;
  const int error = errno;
  fail(SIDBEAM_IO_ERROR,
       "cannot sync the folder of '%.300s': %s (the new file is in its place, but may not outlive a power failure)",
       path_.c_str(), strerrordesc_np(error));
}

}  // namespace sidbeam
