// SPDX-License-Identifier: Apache-2.0
#include "head_case.h"

#include "runner/draft/head_forward.h"
#include "runner/models/cpu_model.h"

namespace gpu {

using differential::call;

namespace {

constexpr int32_t kPlaceholders[] = {41, 7, 44}, kRequests = 4;
constexpr int64_t kCount = 3, kMostPrompt = 320;

ForwardLimits limits_of(const std::vector<int32_t>& begin) {
  ForwardLimits limits;
  limits.requests = kRequests, limits.max_group = 3, limits.max_prompt = kMostPrompt;
  limits.begin_tokens = begin.data(), limits.begin_count = static_cast<int64_t>(begin.size());
  limits.placeholders = kPlaceholders, limits.placeholder_count = kCount;
  return limits;
}

// Of three levels; only at the second is the number of codes a multiple of four.
oracle::DraftModel random_model(const HeadCase& c, int64_t hidden) {
  std::mt19937_64 random(static_cast<uint64_t>(c.input * 10 + c.transition));
  heads::HeadShape shape{{19, 16, 11}};
  shape.hidden = shape.embedding = static_cast<int>(hidden);
  shape.input = c.input, shape.transition = c.transition;
  oracle::DraftModel model = heads::random_head(shape, random);
  // States of norms are about 1 each: products with all of them stay small enough for f32.
  for (oracle::DraftLayer& layer : model.layers)
    for (oracle::Vector* weights : {&layer.head, &layer.input, &layer.recurrent})
      for (double& weight : *weights) weight /= 4;
  return model;
}

// Hides a code per row, as bytes, which need no kernel. Ends request kEnding at level 1.
int32_t hide(void* context, const sidbeam_level* level) {
  ++*static_cast<int*>(context);
  for (int64_t row = 0; row < level->rows; ++row) {
    float* const at = level->logits + row * level->row_stride + (row + level->level) % level->columns;
    constexpr int kByte = 0xC2;  // four make -97.4
    if (level->stream == nullptr) {
      std::memset(at, kByte, sizeof *at);
    } else {
      expect_cuda(cudaMemsetAsync(at, kByte, sizeof *at, static_cast<cudaStream_t>(level->stream)), "change logits");
    }
  }
  return level->request == kEnding && level->level == 1 ? 1 : 0;
}

template <class T>
std::vector<T> fetched(const T* there, size_t count, cudaStream_t stream) {
  std::vector<T> here(count);
  expect_cuda(cudaMemcpyAsync(here.data(), there, count * sizeof(T), cudaMemcpyDeviceToHost, stream), "copy");
  expect_cuda(cudaStreamSynchronize(stream), "wait");
  return here;
}

}  // namespace

std::string HeadCase::text() const {
  return std::string(model) + ", weights " + std::to_string(weights) + ", input " + std::to_string(input) +
         ", transition " + std::to_string(transition) + ", strategy " + std::to_string(strategy) + ", normalization " +
         std::to_string(normalization) + ", " + std::to_string(beams) + " beams";
}

HeadModel::HeadModel(const std::string& name, int32_t device_type, int32_t weights) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = weights;
  config.device_type = device_type;
  model = sidbeam::Ref<Model>::adopt(open_model(model_folder(name).c_str(), config));
}

History random_history(std::mt19937_64& random, size_t positions, int32_t group) {
  History history;
  history.group = group;
  for (size_t i = 0; i < positions * static_cast<size_t>(group); ++i)
    history.tokens.push_back(static_cast<int32_t>(random() % kVocabulary));
  return history;
}

std::vector<float> cpu_states(const HeadModel& model, const std::vector<int32_t>& begin,
                              const std::vector<Prompt>& prompts) {
  const auto forward = static_cast<const CpuModel&>(*model.model)
                           .make_states_forward(sidbeam::default_allocator(), limits_of(begin), workers_of());
  const auto count = static_cast<int32_t>(prompts.size());
  const float* const states = forward->states(prompts.data(), count);
  return {states, states + count * (kCount + 1) * model.hidden()};
}

DeviceStates::DeviceStates(const HeadModel& model, const std::vector<int32_t>& begin)
    : hidden_(model.hidden()),
      forward_(sidbeam::default_allocator(), static_cast<const CudaModel&>(*model.model), nullptr, nullptr,
               limits_of(begin)) {}

std::vector<float> DeviceStates::of(const std::vector<Prompt>& prompts) {
  forward_.prefill(prompts.data(), static_cast<int32_t>(prompts.size()));
  return fetched(forward_.states(), prompts.size() * static_cast<size_t>((kCount + 1) * hidden_),
                 static_cast<cudaStream_t>(forward_.stream()));
}

HeadWorld::HeadWorld(const HeadCase& of) : c(of), runtime(differential::make_runtime(nullptr)) {
  const oracle::DraftModel model = random_model(c, HeadModel(c.model, SIDBEAM_DEVICE_CPU).hidden());
  head = heads::DraftFile(model, c.dtype).head();
  std::mt19937_64 random(5);
  const DevicePlace device(0);
  const auto constrain = [&](size_t sids) {
    handles::Index made = heads::make_index(runtime.get(), model.codes, heads::random_sids(model.codes, sids, random));
    device.prepare(made.get());
    return made;
  };
  index = constrain(300);
  many = differential::constrain(index.get());
  few = differential::constrain(constrain(4).get());
}

HeadLane::HeadLane(const HeadWorld& w, int32_t device_type) : model_(w.c.model, device_type, w.c.weights) {
  const auto& head = *reinterpret_cast<const sidbeam::runner::DraftHead*>(w.head.get());
  output_ = make_head_output(sidbeam::default_allocator(), head);
  const std::vector<int32_t> begin = {9, 30};
  ForwardLimits limits = limits_of(begin);
  limits.beams = w.c.beams, limits.levels = static_cast<int32_t>(kCount);
  LaneConfig config;
  config.runtime = w.runtime.get(), config.constraint = w.many.get(), config.output = &output_->columns();
  config.requests = kRequests, config.beams = w.c.beams;
  config.strategy = w.c.strategy, config.normalization = w.c.normalization;
  if (w.c.adjusts) config.adjust = hide;
  config.adjust_context = &adjusted_;
  lane_ = make_lane(sidbeam::default_allocator(), config,
                    model_.model->make_head_forward(sidbeam::default_allocator(), head, limits, workers_of()));
}

Collector HeadLane::run(const std::vector<Job>& jobs) {
  Collector to(jobs.size());
  lane_->run(jobs.data(), static_cast<int32_t>(jobs.size()), to);
  return to;
}

std::vector<Found> decoded(const HeadWorld& w, const std::vector<Prompt>& prompts) {
  const HeadModel model(w.c.model, SIDBEAM_DEVICE_CUDA, w.c.weights);
  DeviceStates states(model, {9, 30});
  states.of(prompts);
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = static_cast<int32_t>(prompts.size()), config.beams = w.c.beams;
  config.normalization = w.c.normalization;
  config.head = w.head.get(), config.index = w.index.get();
  config.device_type = SIDBEAM_DEVICE_CUDA;
  const auto decoder = handles::made<heads::DraftDecoder>(
      [&](auto** out, sidbeam_error* err) { return sidbeam_draft_decoder_create(w.runtime.get(), &config, out, err); });
  sidbeam_rows rows =
      sidbeam_rows_dense(states.forward().states(), SIDBEAM_DTYPE_F32, config.requests, kCount + 1, model.hidden());
  rows.device_type = SIDBEAM_DEVICE_CUDA;
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  args.hidden = &rows, args.stream = states.forward().stream();
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  call("run", sidbeam_draft_decoder_run, decoder.get(), static_cast<const sidbeam_draft_args*>(&args), &result);
  const auto stream = static_cast<cudaStream_t>(args.stream);
  const std::vector<int32_t> live = fetched(result.live, prompts.size(), stream);
  Collector found(prompts.size());
  for (int32_t i = 0; i < config.requests; ++i) {
    const int64_t first = int64_t{i} * config.beams;
    const auto count = static_cast<size_t>(live[static_cast<size_t>(i)]);
    const std::vector<int32_t> sids = fetched(result.sids + first * kCount, count * kCount, stream);
    const std::vector<float> scores = fetched(result.scores + first, count, stream);
    const std::vector<int64_t> ordinals = fetched(result.ordinals + first, count, stream);
    found.ended(i, {SIDBEAM_OK, "", static_cast<int32_t>(count), sids.data(), scores.data(), ordinals.data()});
  }
  return found.found;
}

std::vector<Found> answers(const HeadWorld& w, int32_t device_type, const std::vector<History>& histories) {
  const HeadModel model(w.c.model, device_type, w.c.weights);
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.model = reinterpret_cast<sidbeam_model*>(model.model.get());
  config.constraint = w.many.get(), config.head = w.head.get();
  config.placeholders = kPlaceholders, config.placeholder_count = kCount;
  config.beams = w.c.beams, config.max_group = 3, config.max_prompt = 40;
  sidbeam_runner* made = nullptr;
  call("runner", sidbeam_runner_create, w.runtime.get(), static_cast<const sidbeam_runner_config*>(&config), &made);
  const std::unique_ptr<sidbeam_runner, decltype(&sidbeam_runner_destroy)> runner(made, sidbeam_runner_destroy);
  Collector found(histories.size());
  for (size_t i = 0; i < histories.size(); ++i) {
    const Prompt prompt = histories[i].prompt();
    std::pair<Collector*, int32_t> to{&found, static_cast<int32_t>(i)};
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.tokens = prompt.tokens, request.positions = prompt.positions, request.group = prompt.group;
    request.context = &to;
    request.done = [](void* context, const sidbeam_result* of) {
      const auto& [collector, number] = *static_cast<std::pair<Collector*, int32_t>*>(context);
      collector->ended(number, {of->status, "", static_cast<int32_t>(of->live), of->sids, of->scores, of->ordinals});
    };
    call("run", sidbeam_runner_run, made, static_cast<const sidbeam_request*>(&request));
  }
  return found.found;
}

}  // namespace gpu
