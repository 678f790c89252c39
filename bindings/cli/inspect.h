// What inspect gathers, for its three outputs.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_INSPECT_H
#define SIDBEAM_CLI_INSPECT_H

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "abi.h"
#include "json.h"
#include "terminal.h"

namespace cli {

struct InspectedAttribute {
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;  // its name is the index's
  bool has_values = false;
  std::vector<std::pair<std::string, int64_t>> commonest;  // of others than numbers: values, and items with them

  bool has_range() const { return info.type == SIDBEAM_ATTRIBUTE_I64 || info.type == SIDBEAM_ATTRIBUTE_F32; }
  const char* type() const;
  std::string values() const;  // the range or the commonest, for people
  Json json() const;
};

// One pass over the values.
std::vector<InspectedAttribute> inspect_attributes(const sidbeam_index* index, const sidbeam_index_info& header);

// Of priorities that the file keeps.
struct InspectedPriorities {
  int64_t least, greatest;

  std::string values() const { return with_commas(least) + " .. " + with_commas(greatest); }
};

struct Inspection {
  Index index;  // what info borrows from
  std::string path, codebook;
  sidbeam_index_info info;
  std::vector<sidbeam_section_info> sections;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<double> mean_children;                       // by level; the end of a SID is not counted
  std::vector<std::pair<int64_t, int64_t>> items_per_sid;  // (items, SIDs with so many), rising
  std::vector<InspectedAttribute> attributes;
  std::optional<InspectedPriorities> priorities;

  size_t levels() const { return static_cast<size_t>(info.levels); }
  std::string format_version() const {
    return std::to_string(info.format_major) + "." + std::to_string(info.format_minor);
  }
  const char* id_type() const;
  const char* verified() const;  // the depth
  double bytes_per_item() const { return static_cast<double>(info.file_bytes) / static_cast<double>(info.items); }
};

// One self-contained page: inline pictures, nothing fetched, light and dark.
std::string inspection_page(const Inspection& inspection);

// The folder of a live catalogue. In live_inspect.cc.
struct LiveInspection {
  std::string folder;
  sidbeam_catalog_info info;
  std::vector<sidbeam_version_info> versions;  // the newest first
};
LiveInspection inspect_catalog(const std::string& folder);
Json catalog_json(const LiveInspection& inspection);
std::string catalog_text(const LiveInspection& inspection);
std::string catalog_page(const LiveInspection& inspection);

}  // namespace cli

#endif
