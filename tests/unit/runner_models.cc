// The models' forward passes: against what transformers computes, and against themselves.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "model_runs.h"
#include "runner/models/relative_bias.h"

namespace sidbeam::runner {
namespace {

std::vector<Logits> run_all(Forward& forward, const Golden& golden, const std::vector<Prompt>& prompts) {
  return Runs(forward, golden).run(prompts);
}

class RunnerModels : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, RunnerModels, testing::ValuesIn(kModels),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RunnerModels, ComputeWhatTransformersDoes) {
  const Golden golden(GetParam());
  const Ref<Model> model = open_small(GetParam());
  ModelLane lane(*model, golden, workers_of(), 4);
  const std::vector<Logits> all = run_all(*lane.forward, golden, prompts_of(golden));
  for (size_t i = 0; i < all.size(); ++i) EXPECT_LT(distance_from(golden, i, all[i]), 2e-5F) << "prompt " << i;
}

// Prompts of a batch neither see nor change each other, whatever the order.
TEST_P(RunnerModels, GiveTheSameBitsAloneAndInABatch) {
  const Golden golden(GetParam());
  const Ref<Model> model = open_small(GetParam());
  const std::vector<Prompt> prompts = prompts_of(golden);
  ModelLane lane(*model, golden, workers_of(), 4);
  std::vector<Logits> alone;
  for (const Prompt& prompt : prompts) alone.push_back(run_all(*lane.forward, golden, {prompt})[0]);
  EXPECT_EQ(run_all(*lane.forward, golden, prompts), alone);
  const std::vector<Logits> turned = run_all(*lane.forward, golden, {prompts[2], prompts[0], prompts[3], prompts[2]});
  EXPECT_EQ(turned, (std::vector<Logits>{alone[2], alone[0], alone[3], alone[2]}));
}

TEST_P(RunnerModels, GiveTheSameBitsOnEveryTargetAndNumberOfThreads) {
  const Golden golden(GetParam());
  const Ref<Model> model = open_small(GetParam());
  const auto run = [&](const Workers& workers) {
    ModelLane lane(*model, golden, workers, 4);
    return run_all(*lane.forward, golden, prompts_of(golden));
  };
  const std::vector<Logits> expected = run(workers_of(CpuTarget::kBaseline));
  for (const CpuTarget target : kCpuTargets)
    if (has_cpu_target(target)) {
      EXPECT_EQ(run(workers_of(target)), expected) << cpu_target_name(target);
    }
  SpinPool pool(3);
  EXPECT_EQ(run(workers_of(best_cpu_target(), &pool)), expected);
}

// The host's KV is that of transformers; a decoder alone goes on after it.
TEST_P(RunnerModels, TakeAHostsKeysAndValues) {
  const Golden golden(GetParam());
  const Ref<Model> model = open_small(GetParam());
  const GoldenKv given(golden);
  ModelLane lane(*model, golden, workers_of(), 4);
  const std::vector<Logits> all = run_all(*lane.forward, golden, {golden.prompts[1].prompt(), given.prompt()});
  EXPECT_LT(distance_from(golden, 1, all[0]), 2e-5F);
  EXPECT_LT(distance_from(golden, 2, all[1]), 2e-5F);
}

TEST_P(RunnerModels, KeepTheirLogitsNearlyInFewerBits) {
  const Golden golden(GetParam());
  const auto run = [&](int32_t weights) {
    const Ref<Model> model = open_small(GetParam(), weights);
    EXPECT_EQ(weights, model->info().weights);
    ModelLane lane(*model, golden, workers_of(), 4);
    return run_all(*lane.forward, golden, prompts_of(golden));
  };
  const std::vector<Logits> exact = run(SIDBEAM_WEIGHTS_F32);
  EXPECT_LT(spread(exact, run(SIDBEAM_WEIGHTS_F16)), 4e-3);
  EXPECT_LT(spread(exact, run(SIDBEAM_WEIGHTS_BF16)), 3e-2);
  const double int8 = spread(exact, run(SIDBEAM_WEIGHTS_INT8));
  EXPECT_LT(int8, 1e-1);
  EXPECT_GT(int8, 1e-5);
}

// Stored in 16 bits or widened, the same values give the same bits.
TEST_P(RunnerModels, GiveTheSameBitsWidenedAndAsStored) {
  const Golden golden(GetParam());
  const Ref<Model> stored = open_small(GetParam()), wide = open_small(GetParam(), SIDBEAM_WEIGHTS_F32);
  ModelLane narrow_lane(*stored, golden, workers_of(), 4), wide_lane(*wide, golden, workers_of(), 4);
  EXPECT_EQ(run_all(*narrow_lane.forward, golden, prompts_of(golden)),
            run_all(*wide_lane.forward, golden, prompts_of(golden)));
  EXPECT_LE(stored->info().memory_bytes, wide->info().memory_bytes);
}

// A level's own columns are those of the whole output layer.
TEST_P(RunnerModels, MultiplyTheColumnsOfALevelAlone) {
  const Golden golden(GetParam());
  const Ref<Model> model = open_small(GetParam());
  ModelLane whole(*model, golden, workers_of(), 4);
  const int32_t codes[] = {20, 20, 7, 20};
  const int64_t offsets[] = {5, 5, 0, 30}, map_codes[] = {0, 0, 8, 0};
  const int32_t map[] = {3, -1, 49, 0, 0, 17, -1, 2};
  const int32_t* const maps[] = {nullptr, nullptr, map, nullptr};
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = kLevels, vocabulary.offsets = offsets, vocabulary.maps = maps, vocabulary.map_codes = map_codes;
  for (const int64_t end : {int64_t{1}, int64_t{-1}}) {
    vocabulary.end_column = end;
    OutputConfig config;
    config.levels = kLevels, config.codes = codes, config.vocabulary = &vocabulary, config.variable_length = end >= 0;
    config.normalization = SIDBEAM_NORMALIZE_VALID;
    const std::unique_ptr<Output> output = model->make_output(default_allocator(), config);
    ForwardLimits limits;
    limits.levels = kLevels, limits.beams = kSequences, limits.max_group = 3, limits.max_prompt = 40;
    limits.begin_tokens = golden.begin.data(), limits.begin_count = static_cast<int64_t>(golden.begin.size());
    const std::unique_ptr<Forward> forward = model->make_forward(default_allocator(), *output, limits, workers_of());
    const Prompt prompt = golden.prompts[1].prompt();
    forward->prefill(&prompt, 1);
    whole.forward->prefill(&prompt, 1);
    const float* all = whole.forward->logits(0);
    const float none = -std::numeric_limits<float>::infinity();
    for (int32_t level = 0; level < kLevels; ++level) {
      const float* logits = forward->logits(level);
      ASSERT_EQ(forward->columns(level), codes[level] + 1);
      EXPECT_EQ(logits[0], end < 0 ? none : all[end]);
      for (int32_t code = 0; code < codes[level]; ++code) {
        const int64_t token = maps[level] != nullptr ? map[code] : offsets[level] + code;
        EXPECT_EQ(logits[1 + code], token < 0 ? none : all[token]) << "level " << level << ", code " << code;
        EXPECT_EQ(output->columns().token(level, code), token);
      }
    }
    EXPECT_EQ(output->columns().like(1), 0);  // of the same tokens, packed once
    EXPECT_EQ(output->columns().vocabulary().end_column, 0);
    EXPECT_EQ(output->columns().vocabulary().offsets[3], 1);
  }
}

// What a new user has: the begin tokens are all of the prompt, and give what the same tokens as a prompt give.
TEST_P(RunnerModels, BeginWithoutAPrompt) {
  Golden golden(GetParam());
  const Ref<Model> model = open_small(GetParam());
  if (model->info().encoder_layers > 0) return;  // its decoder would have nothing to attend to
  ModelLane with_prompt(*model, golden, workers_of(), 2);
  const auto of_single_tokens = std::find_if(golden.prompts.begin(), golden.prompts.end(),
                                             [](const History& history) { return history.prompt().group == 1; });
  ASSERT_NE(of_single_tokens, golden.prompts.end());
  const Prompt prompt = of_single_tokens->prompt();
  with_prompt.forward->prefill(&prompt, 1);
  golden.begin.insert(golden.begin.begin(), prompt.tokens, prompt.tokens + prompt.positions);
  ModelLane cold(*model, golden, workers_of(), 2);
  const Prompt prompts[2] = {{nullptr, 0, 1}, {nullptr, 0, 3}};
  cold.forward->prefill(prompts, 2);
  for (int32_t token = 0; token < kVocabulary; ++token) {
    EXPECT_EQ(cold.forward->logits(0)[token], with_prompt.forward->logits(0)[token]);
    EXPECT_EQ(cold.forward->logits(0)[kVocabulary + token], with_prompt.forward->logits(0)[token]);
  }
}

TEST(RunnerBias, BucketsAreThoseOfTransformersAtEveryDistance) {
  for (const auto& [name, first] : read_values(model_folder("buckets.safetensors"))) {
    int32_t buckets = 0, most = 0, both = 0;
    ASSERT_EQ(std::sscanf(name.c_str(), "%d %d %d", &buckets, &most, &both), 3);
    int32_t bucket = 0;
    for (int64_t distance = 0; distance <= 4096; ++distance) {
      while (static_cast<size_t>(bucket) + 1 < first.values.size() &&
             first.values[static_cast<size_t>(bucket) + 1] <= static_cast<float>(distance))
        ++bucket;
      ASSERT_EQ(relative_bucket(-distance, both != 0, buckets, most), bucket) << name << " at " << distance;
      const int32_t after = distance == 0 ? 0 : both != 0 ? bucket + buckets / 2 : 0;
      ASSERT_EQ(relative_bucket(distance, both != 0, buckets, most), after) << name << " at " << distance;
    }
  }
}

}  // namespace
}  // namespace sidbeam::runner
