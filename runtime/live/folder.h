// The folder of a live catalogue: its manifest, the names of its files, and the lock of its writer.
//
//   catalog.live          the manifest: which of the others count
//   base-G.sidx           the base of generation G
//   log-V.slog            the log that begins with version V
//   lock                  held by the writer, who is named in it
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "index/live/manifest.h"
#include "support/cpu_target.h"
#include "support/file_descriptor.h"
#include "support/process.h"

namespace sidbeam {

class CatalogFolder {
 public:
  CatalogFolder(CpuTarget target, std::string path);
  CatalogFolder(CatalogFolder&&) = default;
  ~CatalogFolder();

  // Makes the folder unless it is there.
  void make();
  // Makes this process its writer, until it is closed. Throws BAD_STATE with the name of another one.
  void lock();

  bool has_manifest() const;
  Manifest read() const;
  // Replaces the manifest at once; what it names must have been synced.
  void write(const Manifest& manifest) const;
  // Removes the files of bases and logs that a manifest does not name (null: all): of a writer that was killed, or of
  // generations that are no longer kept.
  void remove_unlisted(const Manifest* manifest) const;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  static std::string base_name(int64_t generation);
  static std::string log_name(const std::string& version);

 private:
  CpuTarget target_;
  std::string path_;
  FileDescriptor lock_;
  uint64_t process_ = this_process();
};

}  // namespace sidbeam
