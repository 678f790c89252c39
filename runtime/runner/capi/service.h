// What a sidbeam_runner owns: the runner itself, and everything that its lanes use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/models/model.h"
#include "runner/schedule/runner.h"
#include "runner/schedule/speculative_lane.h"
#include "sidbeam/draft.h"
#include "support/executor.h"

namespace sidbeam::runner {

struct ConstraintDeleter {
  void operator()(sidbeam_constraint* constraint) const { sidbeam_constraint_release(constraint); }
};
using ConstraintRef = std::unique_ptr<sidbeam_constraint, ConstraintDeleter>;
struct HeadDeleter {
  void operator()(sidbeam_draft_head* head) const { sidbeam_draft_head_release(head); }
};
using HeadRef = std::unique_ptr<sidbeam_draft_head, HeadDeleter>;

// Members are destroyed from the last to the first: the lanes before what they use.
struct Service {
  Ref<Model> model, draft;  // draft: empty without speculation
  HeadRef head;             // nullptr: the model decodes
  ConstraintRef constraint;
  sidbeam_constraint_info shape = SIDBEAM_CONSTRAINT_INFO_INIT;  // of the constraint
  int32_t beams = 0;
  Drafting drafting;
  bool draws = false;  // requests have a seed
  int64_t max_prompt = 0, begin_count = 0;
  int32_t max_group = 0;
  std::unique_ptr<Executor> executor;  // nullptr: a request has one thread
  std::unique_ptr<Output> output, draft_output;
  std::unique_ptr<Runner> runner;
};

// Throws Failure as sidbeam_runner_create() says.
std::unique_ptr<Service> make_service(sidbeam_runtime* runtime, const sidbeam_runner_config& config);

// The request, checked, with what it leaves out filled in; a shared_kv is copied to `shared_kv`, to which the result
// points. Throws Failure as sidbeam_runner_submit() says.
sidbeam_request complete_request(const Service& service, const sidbeam_request* request, sidbeam_shared_kv& shared_kv);

}  // namespace sidbeam::runner
