// Opening a model: what is refused, and memory that runs out at any moment.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "models.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

// A copy of a model whose config has one text in place of another.
class Altered {
 public:
  Altered(const std::string& name, const std::string& from, const std::string& to) {
    std::string path = testing::TempDir() + "sidbeam_model_XXXXXX";
    folder_ = ::mkdtemp(path.data());
    for (const char* file : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(model_folder(name) + "/" + file, folder_ + "/" + file);
    std::stringstream config;
    config << std::ifstream(folder_ + "/config.json").rdbuf();
    std::string text = config.str();
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    std::ofstream(folder_ + "/config.json") << text.replace(at, from.size(), to);
  }
  Altered(const Altered&) = delete;
  Altered& operator=(const Altered&) = delete;
  ~Altered() { std::filesystem::remove_all(folder_); }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

void expect_in(const std::string& phrase, const std::string& message) {
  EXPECT_NE(message.find(phrase), std::string::npos) << message;
}

std::string refusal(sidbeam_status status, const std::string& folder, int32_t weights = SIDBEAM_WEIGHTS_STORED) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = weights;
  try {
    Ref<Model>::adopt(open_model(folder.c_str(), config));
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status, status) << failure.message;
    return failure.message;
  }
  return "opened";
}

TEST(RunnerModelOpen, NamesWhatIsMissingOrWrong) {
  const auto corrupt = [](const char* name, const char* from, const char* to) {
    return refusal(SIDBEAM_CORRUPT, Altered(name, from, to).folder());
  };
  expect_in("model.layers.2.", corrupt("llama", "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"));
  expect_in("gate_proj.weight", corrupt("llama", "\"intermediate_size\": 56", "\"intermediate_size\": 57"));
  expect_in("q_proj.weight", corrupt("qwen3", "\"head_dim\": 14", "\"head_dim\": 12"));
  expect_in("opened", corrupt("qwen3", "\"tie_word_embeddings\": false", "\"vocab_size_\": 0"));
  expect_in("embed_tokens.weight", corrupt("qwen3", "\"vocab_size\": 50", "\"vocab_size\": 51"));
  expect_in("relative_attention_bias.weight",
            corrupt("t5_relu", "\"relative_attention_num_buckets\": 8", "\"relative_attention_num_buckets\": 16"));
  expect_in("encoder.block.2.", corrupt("t5_relu", "\"num_layers\": 2", "\"num_layers\": 3"));
  expect_in("model_config.weights", refusal(SIDBEAM_INVALID_ARGUMENT, model_folder("llama"), 5));
}

TEST(RunnerModelOpen, SaysWhatItHolds) {
  const Ref<Model> model = open_small("qwen3");
  const sidbeam_model_info& info = model->info();
  EXPECT_STREQ(info.family, "qwen3");
  EXPECT_EQ(info.layers, 2);
  EXPECT_EQ(info.encoder_layers, 0);
  EXPECT_EQ(info.hidden, 40);
  EXPECT_EQ(info.heads, 4);
  EXPECT_EQ(info.kv_heads, 2);
  EXPECT_EQ(info.head_dim, 14);
  EXPECT_EQ(info.vocabulary, 50);
  EXPECT_EQ(info.weights, SIDBEAM_WEIGHTS_F16);
  EXPECT_EQ(info.parameters, 2 * 50 * 40 + 40 + 2 * (2 * 40 + 2 * 14 + (56 + 28 + 28) * 40 + 56 * 40 + 3 * 56 * 40));
  EXPECT_GE(info.memory_bytes, 2 * info.parameters);
}

TEST(RunnerModelOpen, OutputsOfAnotherVocabularyAreRefused) {
  const Ref<Model> model = open_small("llama");
  const auto refusal_of = [&](const OutputConfig& config) -> std::string {
    try {
      model->make_output(default_allocator(), config);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_INVALID_ARGUMENT);
      return failure.message;
    }
    return "made";
  };
  const int32_t codes[] = {50, 20};
  const int64_t offsets[] = {0, 31};
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = 2, vocabulary.offsets = offsets;
  OutputConfig config;
  config.levels = 2, config.codes = codes, config.vocabulary = &vocabulary;
  expect_in("code 19 of level 1 is token 50, expected one of the model's, 0 .. 49", refusal_of(config));
  vocabulary.offsets = nullptr, vocabulary.end_column = 50;
  expect_in("vocabulary.end_column: 50", refusal_of(config));
  vocabulary.end_column = -1, config.variable_length = true;
  expect_in("SIDs of variable length need one", refusal_of(config));
  vocabulary.levels = 3;
  expect_in("vocabulary.levels: 3, expected 2", refusal_of(config));
}

TEST(RunnerModelOpen, BeginTokensAreOfTheModel) {
  const Altered without("t5_relu", "\"decoder_start_token_id\": 0", "\"unused\": 0");
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  const Ref<Model> model = Ref<Model>::adopt(open_model(without.folder().c_str(), config));
  const int32_t codes[] = {50, 50};
  OutputConfig columns;
  columns.levels = 2, columns.codes = codes;
  const std::unique_ptr<Output> output = model->make_output(default_allocator(), columns);
  const auto refusal_of = [&](std::vector<int32_t> begin) -> std::string {
    ForwardLimits limits;
    limits.levels = 2, limits.begin_tokens = begin.data(), limits.begin_count = static_cast<int64_t>(begin.size());
    try {
      model->make_forward(default_allocator(), *output, limits, workers_of());
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_INVALID_ARGUMENT);
      return failure.message;
    }
    return "made";
  };
  expect_in("decoder_start_token_id", refusal_of({}));
  expect_in("begin_tokens[1]: 50, expected one of the model's tokens, 0 .. 49", refusal_of({3, 50}));
  expect_in("begin_tokens[0]: -1", refusal_of({-1}));
  expect_in("made", refusal_of({49}));
}

// Fails one allocation, counted from 1; 0: none.
struct FailingMemory {
  int64_t calls = 0, live = 0, fail_at = 0;

  static void* allocate(void* context, int64_t bytes, int64_t alignment) {
    auto& self = *static_cast<FailingMemory*>(context);
    if (++self.calls == self.fail_at) return nullptr;
    self.live += bytes;
    return default_allocator().allocate(bytes, alignment);
  }
  static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
    static_cast<FailingMemory*>(context)->live -= bytes;
    default_allocator().release(memory, bytes, alignment);
  }
  sidbeam_allocator given() { return {(uint32_t)sizeof(sidbeam_allocator), this, allocate, release}; }
  Allocator allocator() { return {this, allocate, release}; }
};

class RunnerModelMemory : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, RunnerModelMemory, testing::Values("t5_relu", "qwen3"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RunnerModelMemory, RunsOutAtAnyMomentWithoutALeak) {
  const Golden golden(GetParam());
  for (int64_t fail_at = 1;; ++fail_at) {
    FailingMemory memory;
    memory.fail_at = fail_at;
    const sidbeam_allocator given = memory.given();
    try {
      const Ref<Model> model = open_small(GetParam(), SIDBEAM_WEIGHTS_INT8, &given);
      const int64_t held = memory.live;
      EXPECT_EQ(held, model->info().memory_bytes);
      const ModelLane lane(*model, golden, workers_of(), 2, memory.allocator());
      EXPECT_GT(model->info().memory_bytes, held);  // the output layer, packed
      EXPECT_EQ(memory.live, model->info().memory_bytes + lane.output->memory_bytes() + lane.forward->memory_bytes());
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_OUT_OF_MEMORY) << failure.message;
    }
    EXPECT_EQ(memory.live, 0) << "allocation " << fail_at;
    if (memory.calls < fail_at) break;
  }
}

// Passes take their memory from nowhere.
TEST_P(RunnerModelMemory, IsTakenAtCreationAlone) {
  const Golden golden(GetParam());
  FailingMemory memory;
  const Ref<Model> model = open_small(GetParam());
  ModelLane lane(*model, golden, workers_of(), 4, memory.allocator());
  const int64_t calls = memory.calls;
  std::vector<Prompt> prompts;
  for (const History& history : golden.prompts) prompts.push_back(history.prompt());
  lane.forward->prefill(prompts.data(), 4);
  lane.forward->logits(0);
  EXPECT_EQ(memory.calls, calls);
}

}  // namespace
}  // namespace sidbeam::runner
