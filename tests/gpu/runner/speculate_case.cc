// SPDX-License-Identifier: Apache-2.0
#include "speculate_case.h"

namespace gpu {

using differential::call;

namespace {

constexpr int32_t kRequests = 4, kBegin[] = {9, 30};

sidbeam::Ref<Model> open_on(const char* name, int32_t device_type, int32_t weights) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = weights;
  config.device_type = device_type;
  return sidbeam::Ref<Model>::adopt(open_model(model_folder(name).c_str(), config));
}

std::unique_ptr<Output> output_of(const Model& model, const SpeculateCase& c) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = 3;
  vocabulary.offsets = kOffsets;
  vocabulary.end_column = kEnd;
  OutputConfig columns;
  columns.levels = 3, columns.codes = kCodes, columns.vocabulary = &vocabulary;
  columns.normalization = c.normalization, columns.variable_length = c.variable;
  return model.make_output(sidbeam::default_allocator(), columns);
}

}  // namespace

std::string SpeculateCase::text() const {
  return std::string(target) + " by " + draft + ", " + std::to_string(draft_beams) + " beams, weights " +
         std::to_string(weights) + ", normalization " + std::to_string(normalization) + ", mode " +
         std::to_string(mode) + (variable ? ", variable" : "") + (relaxed ? ", relaxed" : "");
}

SpeculateWorld::SpeculateWorld(bool variable)
    : runtime(differential::make_runtime(nullptr)),
      many(make_constraint(runtime.get(), 300, 1, variable, true)),
      few(make_constraint(runtime.get(), 4, 2, variable, true)),
      ruled(make_constraint(runtime.get(), 300, 1, variable, true, some_rules(300))) {}

SpeculateLane::SpeculateLane(const SpeculateCase& c, const SpeculateWorld& w, int32_t device_type, Drafts drafts) {
  service_.model = open_on(c.target, device_type, c.weights);
  service_.output = output_of(*service_.model, c);
  call("info", sidbeam_constraint_get_info, static_cast<const sidbeam_constraint*>(w.many.get()), &service_.shape);
  ForwardLimits limits;
  limits.requests = kRequests, limits.beams = kBeams, limits.levels = 3, limits.max_group = 3, limits.max_prompt = 40;
  limits.begin_tokens = kBegin, limits.begin_count = 2;
  LaneConfig config;
  config.runtime = w.runtime.get(), config.constraint = w.many.get(), config.output = &service_.output->columns();
  config.requests = kRequests, config.beams = kBeams;
  config.normalization = c.normalization, config.mode = c.mode;
  if (drafts == Drafts::kWithout) {
    lane_ =
        make_lane(sidbeam::default_allocator(), config,
                  service_.model->make_forward(sidbeam::default_allocator(), *service_.output, limits, workers_of()));
    return;
  }
  service_.draft = open_on(c.draft, device_type, c.weights);
  service_.draft_output = output_of(*service_.draft, c);
  service_.drafting = {c.draft_beams, c.relaxed, c.without_replacement};
  lane_ = make_draft_lane(sidbeam::default_allocator(), service_, config, limits, workers_of());
}

RoundsCollector SpeculateLane::run(const std::vector<Job>& jobs, std::atomic<bool>* flag) {
  RoundsCollector to(jobs.size(), flag);
  lane_->run(jobs.data(), static_cast<int32_t>(jobs.size()), to);
  return to;
}

}  // namespace gpu
