// Turns a catalogue into the bytes of an index in steps: sort, count, place, fill, checksum. The exact place of every
// byte is known before the first one is written.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "index/build/attribute_scan.h"
#include "index/build/catalogue.h"
#include "index/build/scan.h"
#include "index/build/sorted.h"
#include "index/header.h"
#include "support/cpu_target.h"

namespace sidbeam {

// What is said of a build besides its catalogue.
struct BuildSettings {
  sidbeam_builder_config config;  // its codes and codebook are not read
  std::string codebook;
  std::map<std::string, std::string> metadata;
  CpuTarget target = CpuTarget::kBaseline;
  int threads = 1;
};

class Assembly {
 public:
  // Both must stay. A catalogue that is kept can be added to afterwards; of one that is not the keys are freed.
  Assembly(Catalogue& catalogue, const BuildSettings& settings, bool keeps_catalogue)
      : catalogue_(catalogue), settings_(settings), keeps_catalogue_(keeps_catalogue) {}

  // Sorts and counts; once.
  void sort();
  // The header with every section placed, but without checksums.
  FileHeader place();
  // Most memory that the build of a file of this size takes.
  int64_t peak(uint64_t file_bytes) const;
  // Throws where the build may not take as much.
  void need_memory(int64_t bytes) const;
  // Writes the whole file to `base`, which has room for header.file_bytes.
  void fill(FileHeader& header, uint8_t* base) const;
  // [items] which row of the catalogue each item row came from.
  const Buffer<uint64_t>& rows() const { return sorted_->rows; }

 private:
  void hash(FileHeader& header, const uint8_t* base) const;

  Catalogue& catalogue_;
  const BuildSettings& settings_;
  bool keeps_catalogue_;
  std::optional<SortedCatalogue> sorted_;
  int64_t sort_peak_ = 0;  // peak memory of the sort
  std::optional<LevelScan> scan_;
  std::vector<AttributeScan> attributes_;
  std::vector<Hash128> digests_;  // one per column
  size_t header_bytes_ = 0;       // preamble and header
};

// The same index in memory. Throws as Builder::finish() does.
Index assemble(Assembly& assembly, const Allocator& allocator);

}  // namespace sidbeam
