// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/draw.h"

namespace sidbeam::cpu {

RowOutcome weigh_children(const Kernels& kernels, const RowChildren& children, RowWorkspace& workspace,
                          WeighedChildren& weighed) {
  const RowOutcome outcome = outcome_of_largest(children.largest);
  if (outcome != RowOutcome::kReady) return outcome;
  weighed.total = kernels.weigh(children.x, children.count, children.largest, workspace.draw.powers.data(),
                                workspace.draw.cumulative.data());
  weighed.log = log_of_weights(weighed.total, children.largest);
  return outcome;
}

RowOutcome list_row(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                    ListedRow& listed, void* copied) {
  RowOutcome outcome = find_children(plan, task, workspace, counters, copied, listed.children);
  if (outcome != RowOutcome::kReady) return outcome;
  WeighedChildren weighed;
  outcome = weigh_children(*plan.kernels, listed.children, workspace, weighed);
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

Drawn draw_code(const SlotPlan& plan, const ListedRow& listed, const RowWorkspace& workspace, uint64_t bits) {
  const auto i =
      static_cast<int32_t>(plan.kernels->choose(workspace.draw.powers.data(), workspace.draw.cumulative.data(),
                                                listed.children.count, threshold_of(bits, listed.total)));
  return {i, listed.children.code(i), log_prob_of(listed.row, listed.children.x[i]), listed.log_mass};
}

}  // namespace sidbeam::cpu
