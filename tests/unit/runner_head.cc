// Models that carry a draft head: the states of their one pass are those of ordinary passes, and a runner's items those
// of a decoder that is given these states. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "draft_rig.h"
#include "models.h"
#include "runner/models/cpu_model.h"

namespace sidbeam::runner {
namespace {

constexpr int32_t kPlaceholders[] = {41, 7, 44};
constexpr int64_t kCount = 3, kMostPrompt = 12;

struct RunnerDeleter {
  void operator()(sidbeam_runner* runner) const { sidbeam_runner_destroy(runner); }
};
using RunnerHandle = std::unique_ptr<sidbeam_runner, RunnerDeleter>;

const CpuModel& cpu(const Ref<Model>& model) { return static_cast<const CpuModel&>(*model); }

History random_history(std::mt19937_64& random, int32_t group) {
  History history;
  history.group = group;
  const size_t positions = 1 + random() % kMostPrompt;
  for (size_t i = 0; i < positions * static_cast<size_t>(group); ++i)
    history.tokens.push_back(static_cast<int32_t>(random() % kVocabulary));
  return history;
}

ForwardLimits limits_of(int32_t requests, const std::vector<int32_t>& begin, int32_t group) {
  ForwardLimits limits;
  limits.requests = requests;
  limits.max_group = group, limits.max_prompt = kMostPrompt;
  limits.begin_tokens = begin.data(), limits.begin_count = static_cast<int64_t>(begin.size());
  return limits;
}

std::vector<float> states_of(const Model& model, const std::vector<History>& histories,
                             const std::vector<int32_t>& begin, const Workers& workers) {
  ForwardLimits limits = limits_of(static_cast<int32_t>(histories.size()), begin, histories[0].group);
  limits.placeholders = kPlaceholders, limits.placeholder_count = kCount;
  const auto forward = static_cast<const CpuModel&>(model).make_states_forward(default_allocator(), limits, workers);
  std::vector<Prompt> prompts;
  for (const History& history : histories) prompts.push_back(history.prompt());
  const float* const states = forward->states(prompts.data(), limits.requests);
  return {states, states + limits.requests * (kCount + 1) * model.info().hidden};
}

// Logits after one prompt that ends with `begin`, by the model's ordinary pass.
std::vector<float> logits_after(const Model& model, const History& history, const std::vector<int32_t>& begin) {
  const int32_t codes = kVocabulary;
  OutputConfig columns;
  columns.levels = 1, columns.codes = &codes;
  const auto output = model.make_output(default_allocator(), columns);
  const auto forward =
      model.make_forward(default_allocator(), *output, limits_of(1, begin, history.group), workers_of());
  const Prompt prompt = history.prompt();
  forward->prefill(&prompt, 1);
  const float* const logits = forward->logits(0);
  return {logits, logits + kVocabulary};
}

// Each is the state after the prompt, the begin tokens and so many placeholders: the output layer makes of it the
// logits that an ordinary pass over these tokens has.
TEST(RunnerHead, StatesAreThoseBehindThePromptAndEachPlaceholder) {
  std::mt19937_64 random(3);
  for (const char* name : kModels) {
    const Ref<Model> model = open_small(name);
    const ModelConfig& config = cpu(model).config();
    const Matrix layer = pack_matrix(default_allocator(), view_of(cpu(model).weights().output_table()), Dtype::kF32);
    for (const std::vector<int32_t>& begin : {std::vector<int32_t>{}, std::vector<int32_t>{9, 30}}) {
      std::vector<History> histories;
      for (int i = 0; i < 3; ++i) histories.push_back(random_history(random, 2));
      const std::vector<float> states = states_of(*model, histories, begin, workers_of());
      const Workers workers = workers_of();
      for (size_t i = 0; i < histories.size(); ++i) {
        std::vector<int32_t> tokens = begin;
        if (tokens.empty() && config.encoder_layers > 0) tokens.push_back(config.decoder_start_token);
        for (int64_t l = 0; l <= kCount; ++l) {
          if (l > 0) tokens.push_back(kPlaceholders[l - 1]);
          std::vector<float> state(states.data() + (static_cast<int64_t>(i) * (kCount + 1) + l) * config.hidden,
                                   states.data() + (static_cast<int64_t>(i) * (kCount + 1) + l + 1) * config.hidden);
          for (float& element : state) element *= config.output_scale;
          std::vector<float> logits(kVocabulary);
          multiply(workers, ConstRows(state.data(), 1, config.hidden), layer, Rows(logits.data(), 1, kVocabulary));
          EXPECT_EQ(logits, logits_after(*model, histories[i], tokens)) << name << " h_" << l;
        }
      }
    }
  }
}

// What a runner is made of, and the decoder beside it.
struct HeadWorld {
  HeadWorld(const char* model_name, int32_t input, int32_t transition, uint64_t seed)
      : random(seed), model(open_small(model_name)) {
    const HeadShape shape{{9, 6, 11}, model->info().hidden, model->info().hidden, input, transition, true};
    head = make_head(random_head(shape, random));
    const std::set<Sid> sids = random_sids(shape.codes, 150, random);
    index = make_index(runtime.get(), shape.codes, sids);
    version = handles::make_version(runtime.get(), shape.codes, rows_of(sids), false, seed);
    constraint = handles::make_constraint(index.get());
    of_version = handles::make_constraint(version.get());
  }
  sidbeam_runner_config config(int32_t beams) const {
    sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
    config.model = reinterpret_cast<sidbeam_model*>(model.get());
    config.constraint = constraint.get();
    config.beams = beams;
    config.max_prompt = kMostPrompt, config.max_group = 2;
    config.head = head.get();
    config.placeholders = kPlaceholders, config.placeholder_count = kCount;
    return config;
  }

  std::mt19937_64 random;
  handles::Runtime runtime = make_runtime();
  Ref<Model> model;
  DraftHeadHandle head;
  handles::Index index, version;  // the latter of a live catalogue, with the same SIDs
  handles::Constraint constraint, of_version;
};

RunnerHandle make_runner(const HeadWorld& world, const sidbeam_runner_config& config) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_runner* runner = nullptr;
  expect_ok(sidbeam_runner_create(world.runtime.get(), &config, &runner, &error), error);
  return RunnerHandle(runner);
}

struct Found {
  sidbeam_status status = -1;
  std::vector<int32_t> sids;
  std::vector<uint32_t> scores;
  std::vector<int64_t> ordinals;

  bool operator==(const Found&) const = default;
  void take(int64_t live, int64_t levels, const int32_t* of_sids, const float* of_scores, const int64_t* of_ordinals) {
    sids.assign(of_sids, of_sids + live * levels);
    for (int64_t m = 0; m < live; ++m) scores.push_back(std::bit_cast<uint32_t>(of_scores[m]));
    ordinals.assign(of_ordinals, of_ordinals + live);
  }
};

sidbeam_request request_of(const History& history, Found& to) {
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  request.tokens = history.tokens.data();
  request.group = history.group;
  request.positions = static_cast<int64_t>(history.tokens.size()) / history.group;
  request.context = &to;
  request.done = [](void* context, const sidbeam_result* result) {
    auto& found = *static_cast<Found*>(context);
    found.status = result->status;
    if (result->live > 0) found.take(result->live, result->levels, result->sids, result->scores, result->ordinals);
    EXPECT_EQ(result->rounds, 0);
  };
  return request;
}

// The decoder's answers to the states of each request by itself.
std::vector<Found> by_hand(const HeadWorld& world, const std::vector<History>& histories, int32_t verification,
                           int32_t normalization, int32_t beams, int32_t top_k) {
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.beams = beams;
  config.verification = verification;
  config.normalization = normalization;
  config.top_k = top_k;
  config.head = world.head.get();
  config.index = world.index.get();
  const DraftDecoderHandle decoder = make_decoder(world.runtime.get(), config);
  std::vector<Found> all;
  for (const History& history : histories) {
    const std::vector<float> states = states_of(*world.model, {history}, {}, workers_of());
    const sidbeam_draft_result result = run_decoder(
        decoder, sidbeam_rows_dense(states.data(), SIDBEAM_DTYPE_F32, 1, kCount + 1, world.model->info().hidden));
    all.emplace_back().status = SIDBEAM_OK;
    all.back().take(result.live[0], result.levels, result.sids, result.scores, result.ordinals);
  }
  return all;
}

struct HeadKind {
  int32_t input, transition;
};
constexpr HeadKind kHeads[] = {{SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_RNN},
                               {SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_GRU},
                               {SIDBEAM_DRAFT_INPUT_STATE, SIDBEAM_DRAFT_TRANSITION_ADD},
                               {SIDBEAM_DRAFT_INPUT_HIDDEN, SIDBEAM_DRAFT_TRANSITION_NONE}};

// Every other request of a search by trie names a version of a live catalogue, whose items are the same.
TEST(RunnerHead, ItemsAreThoseOfADecoderThatIsGivenTheStates) {
  struct Search {
    int32_t strategy, verification, normalization, beams, top_k;
  };
  constexpr Search kSearches[] = {
      {SIDBEAM_STRATEGY_TRIE, SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_NORMALIZE_FULL, 7, 0},
      {SIDBEAM_STRATEGY_TRIE, SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_NORMALIZE_VALID, 40, 0},
      {SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_DRAFT_VERIFY_HASH, SIDBEAM_NORMALIZE_LEVEL, 12, 0},
      {SIDBEAM_STRATEGY_HASH_FINAL, SIDBEAM_DRAFT_VERIFY_HASH, SIDBEAM_NORMALIZE_FULL, 12, 2},
      {SIDBEAM_STRATEGY_NONE, SIDBEAM_DRAFT_VERIFY_NONE, SIDBEAM_NORMALIZE_FULL, 9, 0}};
  uint64_t seed = 1;
  for (const char* name : kModels) {
    for (const HeadKind& kind : kHeads) {
      HeadWorld world(name, kind.input, kind.transition, ++seed);
      for (const Search& search : kSearches) {
        SCOPED_TRACE(::testing::Message() << name << ", input " << kind.input << ", transition " << kind.transition
                                          << ", strategy " << search.strategy << ", seed " << seed);
        sidbeam_runner_config config = world.config(search.beams);
        config.strategy = search.strategy;
        config.normalization = search.normalization;
        config.top_k = search.top_k;
        const RunnerHandle runner = make_runner(world, config);
        std::vector<History> histories;
        for (int i = 0; i < 4; ++i) histories.push_back(random_history(world.random, 1 + i % 2));
        std::vector<Found> expected =
            by_hand(world, histories, search.verification, search.normalization, search.beams, search.top_k);
        for (size_t i = 0; i < histories.size(); ++i) {
          Found found;
          sidbeam_request request = request_of(histories[i], found);
          if (search.strategy == SIDBEAM_STRATEGY_TRIE && i % 2 == 1) {
            request.constraint = world.of_version.get();
            expected[i].ordinals = handles::ordinals_in(world.version.get(), expected[i].sids, kCount);
          }
          sidbeam_error error = SIDBEAM_ERROR_INIT;
          expect_ok(sidbeam_runner_run(runner.get(), &request, &error), error);
          EXPECT_EQ(found, expected[i]);
          EXPECT_FALSE(found.sids.empty() && search.strategy == SIDBEAM_STRATEGY_TRIE);
        }
      }
    }
  }
}

// Batches of several sizes, lanes, threads and instruction sets, in two orders of arrival, with requests that are
// cancelled among them.
TEST(RunnerHead, NoWayOfRunningChangesABit) {
  HeadWorld world("qwen3", SIDBEAM_DRAFT_INPUT_BOTH, SIDBEAM_DRAFT_TRANSITION_GRU, 77);
  std::vector<History> histories;
  for (int i = 0; i < 12; ++i) histories.push_back(random_history(world.random, 2));
  const std::vector<Found> expected =
      by_hand(world, histories, SIDBEAM_DRAFT_VERIFY_TRIE, SIDBEAM_NORMALIZE_FULL, 10, 0);
  for (const char* target : {"baseline", "avx2", "avx512", "neon"}) {
    for (const int32_t batch : {1, 3, 5}) {
      sidbeam_runner_config config = world.config(10);
      config.cpu_target = target;
      config.batch_requests = batch, config.wait_us = 2000;
      config.lanes = 1 + batch % 2, config.lane_threads = 1;
      config.request_threads = batch;
      config.execute = [](void*, int32_t count, void (*task)(void*, int32_t), void* data) {
        while (count > 0) task(data, --count);
      };
      sidbeam_runner* made = nullptr;
      const sidbeam_status status = sidbeam_runner_create(world.runtime.get(), &config, &made, nullptr);
      if (status == SIDBEAM_UNSUPPORTED) continue;  // a machine without it
      ASSERT_EQ(status, SIDBEAM_OK);
      const RunnerHandle runner(made);
      for (const bool reversed : {false, true}) {
        std::vector<Found> found(histories.size());
        for (size_t i = 0; i < histories.size(); ++i) {
          const size_t at = reversed ? histories.size() - 1 - i : i;
          sidbeam_request request = request_of(histories[at], found[at]);
          int64_t number = 0;
          ASSERT_EQ(sidbeam_runner_submit(runner.get(), &request, &number, nullptr), SIDBEAM_OK);
          if (at % 5 == 2) {
            ASSERT_EQ(sidbeam_runner_cancel(runner.get(), number, nullptr), SIDBEAM_OK);
          }
        }
        ASSERT_EQ(sidbeam_runner_drain(runner.get(), 0, nullptr, nullptr), SIDBEAM_OK);
        for (size_t i = 0; i < histories.size(); ++i) {
          if (found[i].status == SIDBEAM_CANCELLED && i % 5 == 2) continue;
          EXPECT_EQ(found[i], expected[i]) << target << " batch " << batch << " request " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sidbeam::runner
