// SPDX-License-Identifier: Apache-2.0
#include "runner/capi/head.h"

#include "runner/draft/head_forward.h"
#include "support/arguments.h"
#include "support/codebook.h"

namespace sidbeam::runner {
namespace {

const DraftHead& head_of(const Service& service) { return *reinterpret_cast<const DraftHead*>(service.head.get()); }

sidbeam_draft_head_info info_of(const sidbeam_draft_head* head) {
  sidbeam_draft_head_info info = SIDBEAM_DRAFT_HEAD_INFO_INIT;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_draft_head_get_info(head, &info, &error), error);
  return info;
}

void check_shape(const sidbeam_draft_head_info& head, const sidbeam_constraint_info& constraint) {
  if (head.levels != constraint.levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.head has %d levels, expected %d, as config.constraint", head.levels,
         constraint.levels);
  for (int32_t level = 0; level < head.levels; ++level)
    if (head.codes[level] != constraint.codes[level])
      fail(SIDBEAM_INVALID_ARGUMENT, "config.head has %d codes at level %d, expected %d, as config.constraint",
           head.codes[level], level, constraint.codes[level]);
  if (constraint.variable_length != 0)
    fail(SIDBEAM_UNSUPPORTED, "config.constraint has SIDs of variable length, expected one length for a draft head");
}

void check_placeholders(const sidbeam_runner_config& config, int32_t levels, int64_t vocabulary) {
  if (config.placeholder_count != levels)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.placeholder_count is %lld, expected %d, one per level of config.head",
         static_cast<long long>(config.placeholder_count), levels);
  capi::require(config.placeholders, "config.placeholders");
  for (int32_t i = 0; i < levels; ++i)
    if (config.placeholders[i] < 0 || config.placeholders[i] >= vocabulary)
      fail(SIDBEAM_INVALID_ARGUMENT, "config.placeholders[%d] is %d, expected 0..%lld, one of the model's tokens", i,
           config.placeholders[i], static_cast<long long>(vocabulary - 1));
}

}  // namespace

void check_head_config(const sidbeam_runner_config& config) {
  if (config.head == nullptr) {
    if (config.placeholder_count != 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "config.head is NULL, expected one, since config.placeholder_count is %lld",
           static_cast<long long>(config.placeholder_count));
  } else if (config.draft != nullptr) {
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.draft is given, expected NULL beside config.head: the model has no pass left that a draft could save");
  } else if (config.mode != SIDBEAM_MODE_SEARCH) {
    fail(SIDBEAM_UNSUPPORTED, "config.mode is %d, expected %d (SEARCH) beside config.head", config.mode,
         SIDBEAM_MODE_SEARCH);
  }
}

void check_head(const Service& service, const sidbeam_runner_config& config) {
  const sidbeam_model_info& model = service.model->info();
  const sidbeam_draft_head_info head = info_of(config.head);
  if (head.hidden != model.hidden)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.head is for hidden states of %d elements, expected %d, those of the model",
         head.hidden, model.hidden);
  check_shape(head, service.shape);
  check_codebook(service, "config.constraint", service.shape.codebook);
  check_placeholders(config, head.levels, model.vocabulary);
}

void check_codebook(const Service& service, const char* what, const char* codebook) {
  sidbeam::check_codebook(what, codebook, service.shape.codebook, "the runner's constraint");
  if (service.head != nullptr)
    sidbeam::check_codebook(what, codebook, info_of(service.head.get()).codebook, "the draft head");
}

std::unique_ptr<Output> make_output_of_head(const Allocator& allocator, const Service& service) {
  return make_head_output(allocator, head_of(service));
}

std::unique_ptr<Forward> make_forward_with_head(const Allocator& allocator, const Service& service,
                                                const sidbeam_runner_config& config, ForwardLimits limits,
                                                const Workers& workers) {
  limits.placeholders = config.placeholders;
  limits.placeholder_count = config.placeholder_count;
  return service.model->make_head_forward(allocator, head_of(service), limits, workers);
}

}  // namespace sidbeam::runner
