// Reads a live catalogue's folder: bases are opened and logs applied, all at first, and then what has come since.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "index/live/log.h"
#include "live/folder.h"
#include "live/versions.h"

namespace sidbeam {

struct BaseSettings {
  int32_t residency = 0, verify = 0;  // SIDBEAM_RESIDENCY_*, SIDBEAM_VERIFY_*
};

// Opens a base that a manifest names. Throws CORRUPT where it is another one.
Ref<sidbeam_index> open_base(const Ref<sidbeam_runtime>& runtime, const std::string& path,
                             const ManifestGeneration& generation, const BaseSettings& settings);

class CatalogLoader {
 public:
  CatalogLoader(Ref<sidbeam_runtime> runtime, const CatalogFolder& folder, const BaseSettings& settings);

  // Whether a manifest goes on from what has been read, so that read() of it gives what is new.
  bool continues(const Manifest& manifest) const;
  // The versions that are new, the last of them with its index; may be none. After a throw only a new loader helps.
  // Throws CORRUPT where a log is damaged. With accept_loss it reads up to there, and manifest() then ends there.
  // `before`, which may be null, is a version that the last one may differ from by little.
  std::list<LiveVersion> read(const Manifest& manifest, bool accept_loss, const sidbeam_index* before);

  // What has been read.
  const Manifest& manifest() const { return manifest_; }
  const LogReader& last_log() const { return logs_.back().reader; }
  // The log in which something was given up; empty: none.
  const std::string& lost() const { return lost_; }

 private:
  struct Log {
    ManifestSegment segment;
    LogReader reader;
  };
  Generation& generation(const Manifest& manifest, int64_t number);
  Log& log_of(const Manifest& manifest, const ManifestSegment& segment);
  Log* find_log(const Manifest& manifest, const ManifestSegment& segment, bool accept_loss);
  bool read_log(Log& log, bool is_last, bool accept_loss, std::list<LiveVersion>& out);
  void replay(const Log& log, const LogRecord& record, std::list<LiveVersion>& out);
  void give_up_after(Manifest& manifest, size_t segment);
  void forget_unlisted();

  Ref<sidbeam_runtime> runtime_;
  CatalogFolder folder_;
  BaseSettings settings_;
  Manifest manifest_;
  std::vector<std::shared_ptr<Generation>> generations_;
  std::list<Log> logs_;
  int64_t newest_ = 0, newest_generation_ = 0;  // version, and its generation
  std::string lost_;
};

}  // namespace sidbeam
