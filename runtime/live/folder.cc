// SPDX-License-Identifier: Apache-2.0
#include "live/folder.h"

#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include "support/error.h"
#include "support/mapped_file.h"

namespace sidbeam {
namespace {

constexpr const char* kManifest = "catalog.live";
constexpr const char* kLock = "lock";
constexpr const char *kBase = "base-", *kBaseSuffix = ".sidx", *kLog = "log-", *kLogSuffix = ".slog";
constexpr int64_t kMostManifestBytes = int64_t{1} << 26;

[[noreturn]] void io_error(const char* action, const std::string& path) {
  fail(SIDBEAM_IO_ERROR, "cannot %s '%.300s': %s", action, path.c_str(), strerrordesc_np(errno));
}

// Takes a number from the front of a text; false where there is none, or zeros before it.
bool take_number(std::string_view& text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  if (digits == 0 || text[0] == '0') return false;
  text.remove_prefix(digits);
  return true;
}

// Whether a name is one that numbered() makes.
bool is_numbered(std::string_view name, std::string_view prefix, std::string_view suffix) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  if (!take_number(name)) return false;
  if (name.starts_with('-')) {
    name.remove_prefix(1);
    if (!take_number(name)) return false;
  }
  return name == suffix;
}

std::string numbered(const char* prefix, int64_t number, int again, const char* suffix) {
  std::string name = prefix + std::to_string(number);
  if (again > 1) name.append("-").append(std::to_string(again));
  return name + suffix;
}

// "process 12 on host, since 2026-01-31T12:00:00Z"
std::string name_of_writer() {
  char host[256] = "", since[32] = "", text[400];
  if (::gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const time_t now = ::time(nullptr);
  struct tm parts {};
  if (::gmtime_r(&now, &parts) != nullptr) std::strftime(since, sizeof since, "%Y-%m-%dT%H:%M:%SZ", &parts);
  std::snprintf(text, sizeof text, "process %lld on %s, since %s", static_cast<long long>(::getpid()), host, since);
  return text;
}

std::string text_of(int file) {
  char text[400];
  const ssize_t bytes = ::pread(file, text, sizeof text, 0);
  return bytes > 0 ? std::string(text, static_cast<size_t>(bytes)) : "a process that has not named itself yet";
}

// Forces the names of what is in a folder to the disk, where the file system can.
void sync_names(const std::string& path) {
  const FileDescriptor folder = open_at(AT_FDCWD, path.c_str(), O_RDONLY | O_DIRECTORY);
  if (folder.get() < 0) io_error("open", path);
  if (TEMP_FAILURE_RETRY(::fsync(folder.get())) == 0) return;
  if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP) io_error("sync", path);
}

}  // namespace

CatalogFolder::CatalogFolder(CpuTarget target, std::string path) : target_(target), path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
  if (path_.empty()) fail(SIDBEAM_INVALID_ARGUMENT, "folder is \"\", expected the path of one");
}

// A forked child has the lock's file too, and would keep the lock while it lives.
CatalogFolder::~CatalogFolder() {
  if (lock_.get() >= 0 && process_ == this_process()) ::flock(lock_.get(), LOCK_UN);
}

void CatalogFolder::make() {
  if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) io_error("create", path_);
  const std::string above = path_ + "/..";  // which has its name
  if (::access(above.c_str(), R_OK) == 0) sync_names(above);
}

void CatalogFolder::lock() {
  const std::string path = file(kLock);
  FileDescriptor held = open_at(AT_FDCWD, path.c_str(), O_RDWR | O_CREAT, 0666);
  if (held.get() < 0) io_error("open", path);
  if (::flock(held.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) io_error("lock", path);
    fail(SIDBEAM_BAD_STATE, "the catalogue '%.300s' has another writer: %s", path_.c_str(),
         text_of(held.get()).c_str());
  }
  const std::string name = name_of_writer();
  if (TEMP_FAILURE_RETRY(::ftruncate(held.get(), 0)) != 0 ||
      TEMP_FAILURE_RETRY(::pwrite(held.get(), name.data(), name.size(), 0)) < 0)
    io_error("write", path);
  lock_ = std::move(held);
}

bool CatalogFolder::has_manifest() const { return has(kManifest); }

bool CatalogFolder::has(const std::string& name) const {
  struct stat status {};
  if (::stat(file(name).c_str(), &status) == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR) io_error("stat", file(name));
  return false;
}

Manifest CatalogFolder::read() const {
  const std::string path = file(kManifest);
  const InputFile input = open_file(path.c_str());
  if (input.bytes > kMostManifestBytes)
    fail(SIDBEAM_CORRUPT, "'%.300s' has %lld bytes, expected a manifest of at most %lld", path.c_str(),
         static_cast<long long>(input.bytes), static_cast<long long>(kMostManifestBytes));
  std::vector<uint8_t> bytes(static_cast<size_t>(input.bytes));
  read_file(input, path.c_str(), 0, bytes.data(), input.bytes);
  return read_manifest(target_, bytes, path.c_str());
}

std::unique_ptr<OutputFile> CatalogFolder::prepare(const Manifest& manifest) const {
  const std::vector<uint8_t> bytes = write_manifest(target_, manifest);
  sync_names(path_);
  auto out = std::make_unique<OutputFile>(file(kManifest).c_str(), false);
  out->write(bytes.data(), std::ssize(bytes));
  out->sync();
  return out;
}

void CatalogFolder::remove_unlisted(const Manifest& manifest) const {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(path_.c_str()), ::closedir);
  if (folder == nullptr) io_error("open", path_);
  const auto is_listed = [&](std::string_view name) {
    return std::any_of(manifest.generations.begin(), manifest.generations.end(),
                       [&](const ManifestGeneration& each) { return each.base == name; }) ||
           std::any_of(manifest.segments.begin(), manifest.segments.end(),
                       [&](const ManifestSegment& each) { return each.log == name; });
  };
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (!is_numbered(name, kBase, kBaseSuffix) && !is_numbered(name, kLog, kLogSuffix)) continue;
    if (!is_listed(name)) ::unlinkat(::dirfd(folder.get()), entry->d_name, 0);  // else it stays until the next time
  }
}

std::string CatalogFolder::base_name(int64_t generation, int again) {
  return numbered(kBase, generation, again, kBaseSuffix);
}
std::string CatalogFolder::log_name(int64_t version, int again) { return numbered(kLog, version, again, kLogSuffix); }

std::string CatalogFolder::free_name(std::string (*name)(int64_t number, int again), int64_t number) const {
  for (int again = 1;; ++again)
    if (std::string free = name(number, again); !has(free)) return free;
}

}  // namespace sidbeam
