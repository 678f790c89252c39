// One draw from one row on the CPU, for sessions and for sets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/cpu/row_scan.h"
#include "backend/draw.h"

namespace sidbeam::cpu {

// The children of a row, weighed in the workspace, as many draws may use them.
struct ListedRow {
  RowScore row;
  RowChildren children;
  uint64_t total = 0;  // of the weights
  float log_mass = 0.0F;
};

// The sum of the weights of a row's children, and its logarithm.
struct WeighedChildren {
  uint64_t total = 0;
  LogSum log;
};

// Uninitialised: a row of several children has room for many, and clearing it took as long as the draw.
struct Drawn {
  int32_t child;
  uint32_t code;
  float log_prob, log_mass;
};

// Weighs children that are listed in the workspace. Nothing is weighed unless the outcome is kReady.
RowOutcome weigh_children(const SlotPlan& plan, const RowChildren& children, RowWorkspace& workspace,
                          WeighedChildren& weighed);
// Lists and weighs a row's children. kEmpty: no draw from it lives.
RowOutcome list_row(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                    ListedRow& listed);
// The children that n <= kMostTogether times 64 random bits choose.
void draw_codes(const SlotPlan& plan, const ListedRow& listed, const RowWorkspace& workspace, const uint64_t* bits,
                int32_t n, Drawn* drawn);

}  // namespace sidbeam::cpu
