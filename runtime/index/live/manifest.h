// The manifest of a live catalogue in a folder: which files it consists of. schemas/README.md describes the bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "index/index.h"
#include "support/cpu_target.h"
#include "support/hashing.h"

namespace sidbeam {

struct ManifestGeneration {
  int64_t number = 0;
  std::string base;  // name of a file in the folder
  int64_t base_bytes = 0;
  Hash128 base_identity = {};  // identity_of() its header
  bool operator==(const ManifestGeneration&) const = default;
};

struct ManifestSegment {
  std::string log;  // name of a file in the folder
  int64_t generation = 0, first_version = 0;
  uint64_t salt = 0;
  int64_t last_version = 0;  // what comes after that was given up; 0: nothing
  bool operator==(const ManifestSegment&) const = default;
};

struct Manifest {
  std::vector<ManifestGeneration> generations;  // by number
  std::vector<ManifestSegment> segments;        // by version; the last one is being written
  int64_t newest_generation = 0;                // the greatest number that was ever given
  bool operator==(const Manifest&) const = default;
};

// The generation of this number, which is one of the manifest's.
const ManifestGeneration& find_generation(const Manifest& manifest, int64_t number);

// What tells a base from others: a hash of the fingerprints of its items and of their attributes.
Hash128 identity_of(CpuTarget target, const IndexHeaderInfo& base);

std::vector<uint8_t> write_manifest(CpuTarget target, const Manifest& manifest);
// Throws CORRUPT or UNSUPPORTED.
Manifest read_manifest(CpuTarget target, std::span<const uint8_t> bytes, const char* path);

}  // namespace sidbeam
