// What the writer of a live catalogue keeps in its folder: bases, logs and the manifest that names them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "index/live/log.h"
#include "live/folder.h"
#include "live/generation.h"

namespace sidbeam {

struct SyncPolicy {
  int32_t when = 0;  // SIDBEAM_SYNC_*
  int64_t interval_ns = 0;
};

class CatalogStorage {
 public:
  // Of a folder that this process has locked. begin() or go_on() comes first.
  CatalogStorage(CatalogFolder folder, CpuTarget target, const SyncPolicy& sync);

  // The first record of a new log; without a payload there is none yet.
  struct FirstRecord {
    int64_t version;
    std::span<const uint8_t> payload;
  };
  // A new catalogue: its base and its log.
  void begin(const sidbeam_index& base, const FirstRecord& first);
  // Goes on behind what a manifest names, after what was read of its last log. Returns how many bytes it cut off there.
  int64_t go_on(Manifest manifest, const LogReader& read);
  // Goes on in a new log, whose changes are to the pairs of a generation of a manifest, which replaces the one before.
  // On an error all is as it was.
  void begin_log(Manifest manifest, int64_t generation, const FirstRecord& first);

  // Appends the record of a version to the log. Throws where it could not; then it is as if it had not been tried, or
  // failed() says that nothing more can be.
  void append(int64_t version, std::span<const uint8_t> payload);
  void sync();
  // Lets the files of other generations go.
  void keep_only(const std::vector<int64_t>& generations);

  const Manifest& manifest() const { return manifest_; }
  const CatalogFolder& folder() const { return folder_; }
  bool failed() const { return !failure_.empty() || log_->failed(); }
  int64_t unsynced_bytes() const { return static_cast<int64_t>(log_->unsynced_bytes()); }
  int64_t log_bytes() const;
  int64_t base_bytes() const;

 private:
  void check_sound() const;
  LogWriter create_log(const std::string& path, const LogHeader& header, const FirstRecord& first) const;

  CatalogFolder folder_;
  CpuTarget target_;
  SyncPolicy sync_policy_;
  Manifest manifest_;
  std::optional<LogWriter> log_;
  int64_t synced_ns_;    // monotonic
  std::string failure_;  // why nothing more can be written
};

}  // namespace sidbeam
