// Requests through the runner on a GPU: wall time from the first of a batch's submissions to the last's result.
//
//   gpu_requests MODEL NAME POSITIONS [--beams LIST] [--batches LIST] [--json FILE] [--repeats N]
//
// Four codes of 256 per level, 100,000 SIDs among them, and without a constraint the whole vocabulary at every level,
// as rivals search; the model's weights as stored and as bf16. Exit status 77: no device.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/runner.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../bench/program.h"
#include "../../random_constraint.h"
#include "device_place.h"

namespace {

using handles::check;

constexpr int32_t kLevels = 4, kCodes = 256, kFirstToken = 3;

using Model = std::unique_ptr<sidbeam_model, handles::Releaser<sidbeam_model_release>>;
using Runner = std::unique_ptr<sidbeam_runner, handles::Releaser<sidbeam_runner_destroy>>;

struct Options {
  std::string model, name, json, beams = "50,200", batches = "1,8";
  int64_t positions = 0;
  int repeats = 30;
};

struct Setting {
  int32_t beams = 0, batch = 0;
  bool valid = false, narrow = false;
};

Model open_model(const Options& options, bool narrow) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = narrow ? SIDBEAM_WEIGHTS_BF16 : SIDBEAM_WEIGHTS_STORED;
  config.device_type = SIDBEAM_DEVICE_CUDA;
  sidbeam_model* model = nullptr;
  check(sidbeam_model_open(options.model.c_str(), &config, &model, &error), error);
  return Model(model);
}

int32_t vocabulary_of(const sidbeam_model* model) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_model_info info = SIDBEAM_MODEL_INFO_INIT;
  check(sidbeam_model_get_info(model, &info, &error), error);
  return static_cast<int32_t>(info.vocabulary);
}

Runner make_runner(sidbeam_runtime* runtime, sidbeam_model* model, sidbeam_constraint* constraint,
                   const Options& options, const Setting& setting, const std::vector<int64_t>& offsets) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = kLevels, vocabulary.offsets = offsets.data();
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.model = model, config.constraint = constraint, config.vocabulary = &vocabulary;
  config.beams = setting.beams, config.max_prompt = options.positions;
  config.strategy = setting.valid ? SIDBEAM_STRATEGY_TRIE : SIDBEAM_STRATEGY_NONE;
  config.normalization = setting.valid ? SIDBEAM_NORMALIZE_LEVEL : SIDBEAM_NORMALIZE_FULL;
  config.lane_threads = 1, config.batch_requests = setting.batch, config.wait_us = 60000000;
  sidbeam_runner* runner = nullptr;
  check(sidbeam_runner_create(runtime, &config, &runner, &error), error);
  return Runner(runner);
}

struct Outcome {
  std::string failure;
  int32_t batch = 0;
};

void done(void* context, const sidbeam_result* result) {
  auto& outcome = *static_cast<Outcome*>(context);
  outcome.batch = result->batch;
  if (result->status != SIDBEAM_OK)
    outcome.failure = result->message;
  else if (result->live == 0)
    outcome.failure = "a request found no SID";
}

// Microseconds of one batch.
double run_batch(sidbeam_runner* runner, const Options& options, int32_t batch, const std::vector<int32_t>& tokens) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  std::vector<Outcome> outcomes(static_cast<size_t>(batch));
  const auto begin = std::chrono::steady_clock::now();
  for (int32_t i = 0; i < batch; ++i) {
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.tokens = tokens.data() + options.positions * i;
    request.positions = options.positions;
    request.done = done, request.context = &outcomes[static_cast<size_t>(i)];
    check(sidbeam_runner_submit(runner, &request, nullptr, &error), error);
  }
  check(sidbeam_runner_drain(runner, 0, nullptr, &error), error);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  for (const Outcome& outcome : outcomes) {
    if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
    if (outcome.batch != batch) throw std::runtime_error("a batch left with other requests than were submitted");
  }
  return took.count();
}

bench::Measurement measure(sidbeam_runner* runner, const Options& options, const Setting& setting, int32_t tokens) {
  std::mt19937 random(11);
  std::vector<int32_t> prompts(static_cast<size_t>(options.positions * setting.batch));
  for (int32_t& token : prompts)
    token = kFirstToken + static_cast<int32_t>(random() % static_cast<uint32_t>(tokens - kFirstToken));
  std::vector<double> times;
  for (int i = 0; i < options.repeats + 5; ++i) {  // graphs are captured in the first ones
    const double took = run_batch(runner, options, setting.batch, prompts);
    if (i >= 5) times.push_back(took);
  }
  return {"requests",
          {{"model", options.name},
           {"batch", setting.batch},
           {"beams", setting.beams},
           {"dtype", std::string(setting.narrow ? "bf16" : "f32")}},
          setting.valid ? "sidbeam, valid items" : "sidbeam",
          "us",
          bench::summarise(times),
          ""};
}

void run_model(const Options& options, bool narrow, bench::JsonLines& json) {
  const handles::Runtime runtime = handles::make_runtime();
  const Model model = open_model(options, narrow);
  const int32_t tokens = vocabulary_of(model.get()), codes = std::min(kCodes, (tokens - kFirstToken) / kLevels);
  const handles::Constraint items =
      handles::make_constraint(runtime.get(), std::vector<int32_t>(kLevels, codes), 100000, 7);
  const handles::Constraint all =
      handles::make_constraint(runtime.get(), std::vector<int32_t>(kLevels, tokens), 1000, 7);
  const std::vector<int64_t> whole(kLevels, 0);
  std::vector<int64_t> offsets;
  for (int32_t level = 0; level < kLevels; ++level) offsets.push_back(kFirstToken + int64_t{level} * codes);
  for (const std::string& beams : bench::split(options.beams)) {
    for (const std::string& batch : bench::split(options.batches)) {
      for (const bool valid : {true, false}) {
        const Setting setting{std::stoi(beams), std::stoi(batch), valid, narrow};
        const Runner runner = make_runner(runtime.get(), model.get(), (valid ? items : all).get(), options, setting,
                                          valid ? offsets : whole);
        const bench::Measurement found = measure(runner.get(), options, setting, tokens);
        json.add(found);
        std::printf("%s: %-22s %s us   p99 %s\n", bench::describe(found.where).c_str(), found.name.c_str(),
                    bench::figure(found.value.median).c_str(), bench::figure(found.value.p99).c_str());
      }
    }
  }
}

int run(int argc, char** argv) {
  if (argc < 4) throw std::invalid_argument("expected MODEL NAME POSITIONS");
  Options options;
  options.model = argv[1], options.name = argv[2], options.positions = std::stoll(argv[3]);
  bench::parse(argc - 3, argv + 3,
               std::vector<bench::Option>{{"--beams LIST", &options.beams},
                                          {"--batches LIST", &options.batches},
                                          {"--json FILE", &options.json},
                                          {"--repeats N", &options.repeats}});
  if (!gpu::has_device()) return 77;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // a time limit may end this
  bench::JsonLines json(options.json);
  for (const bool narrow : {false, true}) run_model(options, narrow, json);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return bench::run_program("gpu_requests", [&] { return run(argc, argv); });
}
