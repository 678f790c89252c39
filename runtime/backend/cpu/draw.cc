// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/draw.h"

namespace sidbeam::cpu {

RowOutcome list_row(const SlotPlan& plan, RowTask& task, RowWorkspace& workspace, StepCounters& counters,
                    ListedRow& listed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const RowOutcome outcome = list_children(plan, task, workspace, counters, listed.children);
  if (outcome != RowOutcome::kReady) return outcome;
  const float* x = workspace.x.data();
  const int32_t count = listed.children.count;
  const float largest = listed.children.largest;
  if (largest == kInfinity) return RowOutcome::kBad;
  if (largest == -kInfinity) return RowOutcome::kEmpty;
  listed.total = plan.kernels->weigh(x, count, largest, workspace.draw.powers.data(), workspace.draw.cumulative.data());
  const LogSum valid = log_of_weights(listed.total, largest);
  listed.row = task.row;
  if (plan.normalizer == Normalizer::kChildren) {
    listed.row.normalizer = valid;
    listed.row.clamp = true;
  }
  listed.log_mass = log_mass_of(listed.row, valid);
  return RowOutcome::kReady;
}

Drawn draw_code(const SlotPlan& plan, const ListedRow& listed, const RowWorkspace& workspace, uint64_t bits) {
  const auto i =
      static_cast<int32_t>(plan.kernels->choose(workspace.draw.powers.data(), workspace.draw.cumulative.data(),
                                                listed.children.count, threshold_of(bits, listed.total)));
  return {i, workspace.tokens[i], log_prob_of(listed.row, workspace.x[i]), listed.log_mass};
}

}  // namespace sidbeam::cpu
