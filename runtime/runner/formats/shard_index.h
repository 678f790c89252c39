// model.safetensors.index.json: which shard holds which tensor.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sidbeam::runner {

struct ShardIndex {
  struct Place {
    uint32_t name_at = 0, name_size = 0;
    int32_t shard = 0;
  };
  std::string text;                // of the names
  std::vector<Place> places;       // by name, rising
  std::vector<std::string> files;  // names within the folder

  std::string_view name(const Place& place) const { return {text.data() + place.name_at, place.name_size}; }
  // nullptr: none
  const Place* find(std::string_view name) const;
};

// Throws Failure(CORRUPT) naming `path`.
ShardIndex read_shard_index(const char* path, std::string_view text);

}  // namespace sidbeam::runner
