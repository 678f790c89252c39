// A section as callers are told of it, of a file or of a plan.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/index.h"
#include "index/names.h"
#include "sidbeam/index.h"
#include "support/error.h"

namespace sidbeam::capi {

inline sidbeam_section_info describe_section(const std::vector<SectionInfo>& sections, int64_t i) {
  if (i < 0 || static_cast<size_t>(i) >= sections.size())
    fail(SIDBEAM_INVALID_ARGUMENT, "i is %lld, expected 0..%lld", static_cast<long long>(i),
         static_cast<long long>(sections.size()) - 1);
  const SectionInfo& section = sections[static_cast<size_t>(i)];
  sidbeam_section_info info = SIDBEAM_SECTION_INFO_INIT;
  info.level = section.level;
  info.kind = section_kind_name(section.kind);
  info.encoding = section_encoding_name(section.encoding);
  info.offset = static_cast<int64_t>(section.offset);
  info.bytes = static_cast<int64_t>(section.bytes);
  info.checksum = static_cast<int64_t>(section.checksum);
  return info;
}

}  // namespace sidbeam::capi
