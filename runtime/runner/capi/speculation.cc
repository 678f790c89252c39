// SPDX-License-Identifier: Apache-2.0
#include "runner/capi/speculation.h"

#include <cstdio>

#include "support/error.h"

namespace sidbeam::runner {
namespace {

struct PlaceName {
  char text[32];
};
PlaceName place_of(const Model& model) {
  PlaceName name{"the CPU"};
  if (model.device_id() >= 0) std::snprintf(name.text, sizeof name.text, "CUDA device %d", model.device_id());
  return name;
}

void refuse_without_draft(const char* setting, int32_t value) {
  if (value != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.draft is NULL, expected a model, since config.%s is %d", setting, value);
}

void check_relaxed(const sidbeam_runner_config& config) {
  const bool relaxed = config.speculate == SIDBEAM_SPECULATE_RELAXED;
  if (!relaxed && config.without_replacement != 0)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.without_replacement is 1, expected 0, since config.speculate is not SIDBEAM_SPECULATE_RELAXED");
  if (!relaxed) return;
  if (config.without_replacement == 0 && config.draft_beams > config.beams)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.draft_beams is %d, expected %d, config.beams, or config.without_replacement: with replacement there "
         "is a draft per beam",
         config.draft_beams, config.beams);
  if (config.strategy != SIDBEAM_STRATEGY_TRIE)
    fail(SIDBEAM_UNSUPPORTED,
         "config.strategy is %d, expected SIDBEAM_STRATEGY_TRIE, %d, with SIDBEAM_SPECULATE_RELAXED", config.strategy,
         SIDBEAM_STRATEGY_TRIE);
  if (config.mode != SIDBEAM_MODE_SEARCH)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.mode is %d, expected SIDBEAM_MODE_SEARCH, %d, with SIDBEAM_SPECULATE_RELAXED, which draws itself",
         config.mode, SIDBEAM_MODE_SEARCH);
}

}  // namespace

Drafting drafting_of(const sidbeam_runner_config& config) {
  check_range("config.speculate", config.speculate, SIDBEAM_SPECULATE_STRICT, SIDBEAM_SPECULATE_RELAXED);
  check_range("config.draft_beams", config.draft_beams, 0, SIDBEAM_MAX_BEAMS);
  check_range("config.without_replacement", config.without_replacement, 0, 1);
  if (config.draft == nullptr) {
    refuse_without_draft("speculate", config.speculate);
    refuse_without_draft("draft_beams", config.draft_beams);
    refuse_without_draft("without_replacement", config.without_replacement);
    return {};
  }
  check_relaxed(config);
  if (config.adjust != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "config.adjust is given, expected NULL beside config.draft: a round has the logits of several levels at once");
  if (config.draft_beams != 0 && config.draft_beams < config.beams)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.draft_beams is %d, expected at least %d, config.beams", config.draft_beams,
         config.beams);
  return {config.draft_beams != 0 ? config.draft_beams : config.beams, config.speculate == SIDBEAM_SPECULATE_RELAXED,
          config.without_replacement != 0};
}

void check_draft(const Service& service) {
  if (service.draft->device_id() != service.model->device_id())
    fail(SIDBEAM_UNSUPPORTED, "config.draft is on %s, expected %s, as config.model", place_of(*service.draft).text,
         place_of(*service.model).text);
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
  const TreeSize size{service.shape.levels, config.beams, service.drafting.beams};
  limits.tree_rows = size.rows();
  limits.tree_slots = size.slots();
  LaneModels models;
  TreePlace place;
  place.host_logits = service.drafting.relaxed;
  models.target = service.model->make_tree_forward(allocator, *service.output, limits, workers, place);
  limits.tree_rows = limits.beams = service.drafting.beams;
  place.stream = models.target->place().stream;
  models.draft = service.draft->make_tree_forward(allocator, *service.draft_output, limits, workers, place);
  return make_speculative_lane(allocator, config, service.drafting, std::move(models));
}

}  // namespace sidbeam::runner
