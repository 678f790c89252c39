// SPDX-License-Identifier: Apache-2.0
#include "live/storage.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "sidbeam/catalog.h"
#include "support/error.h"
#include "support/secret.h"

namespace sidbeam {
namespace {

int64_t monotonic_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t bytes_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_size : 0;
}

}  // namespace

CatalogStorage::CatalogStorage(CatalogFolder folder, CpuTarget target, const SyncPolicy& sync)
    : folder_(std::move(folder)), target_(target), sync_policy_(sync), synced_ns_(monotonic_ns()) {}

void CatalogStorage::begin(const sidbeam_index& base, const FirstRecord& first) {
  const std::string name = folder_.free_name(CatalogFolder::base_name, 1), path = folder_.file(name);
  Manifest manifest;
  manifest.newest_generation = 1;
  manifest.generations.push_back({1, name, base.index.bytes.size(), identity_of(target_, base.index.header)});
  write_index(base.index, path.c_str());
  try {
    begin_log(std::move(manifest), 1, first);
  } catch (...) {
    if (failure_.empty()) ::unlink(path.c_str());  // else the manifest may name it all the same
    throw;
  }
}

int64_t CatalogStorage::go_on(Manifest manifest, const LogReader& read) {
  const ManifestSegment& last = manifest.segments.back();
  const LogHeader header{find_generation(manifest, last.generation).base_identity, last.salt, last.first_version};
  // Nothing where the file's size is not to be had.
  const auto whole = static_cast<int64_t>(read.whole_bytes());
  const int64_t cut = std::max<int64_t>(0, bytes_of(folder_.file(last.log)) - whole);
  log_ = LogWriter::open(target_, folder_.file(last.log), header, read.whole_bytes(), read.synced_bytes());
  manifest_ = std::move(manifest);
  return cut;
}

void CatalogStorage::check_sound() const {
  if (!failure_.empty()) fail(SIDBEAM_IO_ERROR, "%s", failure_.c_str());
}

// Nothing is left behind on an error.
LogWriter CatalogStorage::create_log(const std::string& path, const LogHeader& header, const FirstRecord& first) const {
  try {
    LogWriter log = LogWriter::create(target_, path, header);
    if (!first.payload.empty()) log.append(first.version, first.payload);
    log.sync();
    return log;
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
}

void CatalogStorage::begin_log(Manifest manifest, int64_t generation, const FirstRecord& first) {
  check_sound();
  if (log_) log_->sync();  // only the last log may end in a record that is not whole
  std::string unused;      // path of a log that was begun where some was given up, and has no record yet
  if (!manifest.segments.empty() && manifest.segments.back().first_version == first.version) {
    unused = folder_.file(manifest.segments.back().log);
    manifest.segments.pop_back();
  }
  const LogHeader header{find_generation(manifest, generation).base_identity, secret_number(), first.version};
  const std::string name = folder_.free_name(CatalogFolder::log_name, first.version), path = folder_.file(name);
  manifest.segments.push_back({name, generation, first.version, header.salt, 0});
  LogWriter log = create_log(path, header, first);
  std::unique_ptr<OutputFile> written;
  try {
    written = folder_.prepare(manifest);
  } catch (...) {
    ::unlink(path.c_str());
    throw;
  }
  try {
    written->commit();
  } catch (const Failure& failure) {
    // Which manifest is there after a crash is unknown; a record in the old log might then be one too many.
    failure_ = std::string(failure.message) + "; it takes no more until the catalogue is opened again";
    fail(failure.status, "%s", failure_.c_str());
  }
  log_.emplace(std::move(log));
  manifest_ = std::move(manifest);
  if (!unused.empty()) ::unlink(unused.c_str());
}

void CatalogStorage::append(int64_t version, std::span<const uint8_t> payload) {
  check_sound();
  log_->append(version, payload);
  const bool due =
      sync_policy_.when == SIDBEAM_SYNC_INTERVAL && monotonic_ns() - synced_ns_ >= sync_policy_.interval_ns;
  if (due || sync_policy_.when == SIDBEAM_SYNC_PUBLISH) sync();
}

void CatalogStorage::sync() {
  check_sound();
  log_->sync();
  synced_ns_ = monotonic_ns();
}

void CatalogStorage::keep_only(const std::vector<int64_t>& generations) {
  const auto goes = [&](int64_t number) {
    return std::find(generations.begin(), generations.end(), number) == generations.end();
  };
  Manifest left = manifest_;
  if (std::erase_if(left.generations, [&](const ManifestGeneration& each) { return goes(each.number); }) == 0) return;
  std::erase_if(left.segments, [&](const ManifestSegment& each) { return goes(each.generation); });
  sync();  // or a power cut would take the versions for which these go, and have none of those
  folder_.prepare(left)->commit();
  // Not all that is unlisted: a compaction has its base there before the manifest names it.
  const Manifest before = std::exchange(manifest_, std::move(left));
  for (const ManifestGeneration& each : before.generations)
    if (goes(each.number)) ::unlink(folder_.file(each.base).c_str());
  for (const ManifestSegment& each : before.segments)
    if (goes(each.generation)) ::unlink(folder_.file(each.log).c_str());
}

int64_t CatalogStorage::log_bytes() const {
  int64_t bytes = 0;
  for (const ManifestSegment& each : manifest_.segments) bytes += bytes_of(folder_.file(each.log));
  return bytes;
}

int64_t CatalogStorage::base_bytes() const {
  int64_t bytes = 0;
  for (const ManifestGeneration& each : manifest_.generations) bytes += each.base_bytes;
  return bytes;
}

}  // namespace sidbeam
