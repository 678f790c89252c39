// SPDX-License-Identifier: Apache-2.0
#include "runner/capi/speculation.h"

#include "runner/schedule/speculative_lane.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

std::unique_ptr<TreeForward> tree_forward(const char* whose, const Model& model, const Allocator& allocator,
                                          const Output& output, const ForwardLimits& limits, const Workers& workers) {
  std::unique_ptr<TreeForward> made = model.make_tree_forward(allocator, output, limits, workers);
  if (made == nullptr)
    fail(SIDBEAM_UNSUPPORTED, "%s is on CUDA, expected a model on the CPU: the runner speculates there alone", whose);
  return made;
}

}  // namespace

int32_t draft_beams_of(const sidbeam_runner_config& config) {
  check_range("config.speculate", config.speculate, SIDBEAM_SPECULATE_STRICT, SIDBEAM_SPECULATE_RELAXED);
  check_range("config.draft_beams", config.draft_beams, 0, SIDBEAM_MAX_BEAMS);
  if (config.draft == nullptr) {
    if (config.speculate != 0 || config.draft_beams != 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "config.draft is NULL, expected a model, since config.%s is %d",
           config.speculate != 0 ? "speculate" : "draft_beams",
           config.speculate != 0 ? config.speculate : config.draft_beams);
    return 0;
  }
  if (config.speculate == SIDBEAM_SPECULATE_RELAXED)
    fail(SIDBEAM_UNSUPPORTED,
         "config.speculate is SIDBEAM_SPECULATE_RELAXED, %d, expected SIDBEAM_SPECULATE_STRICT, %d: runners have no "
         "relaxed rounds; sidbeam_relaxed_draw() and sidbeam_relaxed_verify() are for hosts that run the models",
         SIDBEAM_SPECULATE_RELAXED, SIDBEAM_SPECULATE_STRICT);
  if (config.adjust != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.adjust is given, expected NULL beside config.draft: a round has the logits of several levels at once");
  if (config.draft_beams != 0 && config.draft_beams < config.beams)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.draft_beams is %d, expected at least %d, config.beams", config.draft_beams,
         config.beams);
  return config.draft_beams != 0 ? config.draft_beams : config.beams;
}

void check_draft(const Service& service) {
  const int64_t own = service.draft->info().vocabulary, expected = service.model->info().vocabulary;
  if (own != expected)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.draft has a vocabulary of %lld tokens, expected %lld, as config.model",
         static_cast<long long>(own), static_cast<long long>(expected));
}

void check_trees(const TreeSize& size, int64_t requests) {
  check_range("config.batch_requests * (config.beams + (L - 1) * config.draft_beams)", requests * size.rows(), 1,
              INT32_MAX);
  check_range("places of config.batch_requests trees", requests * size.slots(), 1, INT32_MAX);
}

std::unique_ptr<Lane> make_draft_lane(const Allocator& allocator, const Service& service, const LaneConfig& config,
                                      ForwardLimits limits, const Workers& workers) {
  const TreeSize size{service.shape.levels, config.beams, service.draft_beams};
  limits.tree_rows = size.rows();
  limits.tree_slots = size.slots();
  LaneModels models;
  models.target = tree_forward("config.model", *service.model, allocator, *service.output, limits, workers);
  limits.tree_rows = limits.beams = service.draft_beams;
  models.draft = tree_forward("config.draft", *service.draft, allocator, *service.draft_output, limits, workers);
  return make_speculative_lane(allocator, config, service.draft_beams, std::move(models));
}

}  // namespace sidbeam::runner
