// Computes the sizes of an index before it is built.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "index/header.h"
#include "sidbeam/builder.h"

namespace sidbeam {

// Implements sidbeam_plan.
struct Plan {
  sidbeam_plan_info info = SIDBEAM_PLAN_INFO_INIT;  // the pointer unset: it would not survive a copy
  std::vector<int64_t> nodes;
  std::vector<SectionInfo> sections;
};

// Sets everything except exact and peak_bytes.
Plan plan_of(const FileHeader& header);

// Implements sidbeam_plan_estimate().
Plan estimate_plan(const sidbeam_builder_config& config, int64_t sids);

}  // namespace sidbeam
