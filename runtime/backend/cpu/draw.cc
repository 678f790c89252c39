// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/draw.h"

namespace sidbeam::cpu {

RowOutcome weigh_children(const SlotPlan& plan, const RowChildren& children, RowWorkspace& workspace,
                          WeighedChildren& weighed) {
  const RowOutcome outcome = outcome_of_largest(children.largest);
  if (outcome != RowOutcome::kReady) return outcome;
  const int bits = weight_bits(symbols_at(*plan.index, plan.level));
  weighed.total = plan.kernels->weigh(children.x, children.count, children.largest, bits, workspace.draw.powers.data(),
                                      workspace.draw.cumulative.data());
  weighed.log = log_of_weights(weighed.total, children.largest, bits);
  return outcome;
}

RowOutcome list_row(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                    ListedRow& listed) {
  RowOutcome outcome = find_children(plan, task, workspace, counters, listed.children);
  if (outcome != RowOutcome::kReady) return outcome;
  WeighedChildren weighed;
  outcome = weigh_children(plan, listed.children, workspace, weighed);
  if (outcome != RowOutcome::kReady) return outcome;
  listed.total = weighed.total;
  listed.row = task.row;
  if (plan.normalizer == Normalizer::kChildren) {
    listed.row.normalizer = weighed.log;
    listed.row.clamp = true;
  }
  listed.log_mass = log_mass_of(listed.row, weighed.log);
  return outcome;
}

void draw_codes(const SlotPlan& plan, const ListedRow& listed, const RowWorkspace& workspace, const uint64_t* bits,
                int32_t n, Drawn* drawn) {
  int32_t chosen[kMostTogether];
  plan.kernels->choose(workspace.draw.powers.data(), workspace.draw.cumulative.data(), listed.children.count,
                       listed.total, bits, n, chosen);
  for (int32_t i = 0; i < n; ++i)
    drawn[i] = {chosen[i], listed.children.code(chosen[i]), log_prob_of(listed.row, listed.children.x[chosen[i]]),
                listed.log_mass};
}

}  // namespace sidbeam::cpu
