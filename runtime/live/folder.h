// The folder of a live catalogue: its manifest, the names of its files, and the lock of its writer.
//
//   catalog.live          the manifest: which of the others count
//   base-G.sidx           the base of generation G
//   log-V.slog            the log that begins with version V
//   lock                  held by the writer, who is named in it
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "index/live/manifest.h"
#include "support/cpu_target.h"
#include "support/file_descriptor.h"
#include "support/output_file.h"
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
  bool has(const std::string& name) const;
  Manifest read() const;
  // A manifest that takes the old one's place at commit(); what it names must have been synced.
  std::unique_ptr<OutputFile> prepare(const Manifest& manifest) const;
  // Removes the files of bases and logs that a manifest does not name: of a writer that was killed, or of generations
  // that are no longer kept.
  void remove_unlisted(const Manifest& manifest) const;

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  // Names of files, "base-1.sidx" or the second of that number, "base-1-2.sidx".
  static std::string base_name(int64_t generation, int again = 1);
  static std::string log_name(int64_t version, int again = 1);
  // The first name of a number that no file has. (One that was given up may be there, or somebody else's.)
  std::string free_name(std::string (*name)(int64_t number, int again), int64_t number) const;

 private:
  CpuTarget target_;
  std::string path_;
  FileDescriptor lock_;
  uint64_t process_ = this_process();
};

}  // namespace sidbeam
