// Checkpoints as people have them: other names of the same tensors, other types, what is left of them; and what a model
// refuses of its numbers.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sys/resource.h>

#include <filesystem>
#include <limits>

#include "edited_model.h"
#include "model_runs.h"
#include "runner/models/cpu_model.h"

namespace sidbeam::runner {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

// The edited model has the logits of the other one, to the bit, and nothing was left of it.
void expect_same(const EditedModel& edited, const std::string& name) {
  const Folder folder;
  edited.write(folder);
  Opening how;
  EXPECT_EQ(logits_of(*open_at(folder.path(), how), Golden(name)), logits_of(name));
  EXPECT_TRUE(how.log.empty()) << how.log.front();
}

std::string without_prefix(const std::string& name, const std::string& prefix) {
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

TEST(RunnerCheckpoints, MayHaveTheirNamesUnderWrappers) {
  for (const char* prefix : {"module.", "_orig_mod.", "module._orig_mod.", "_orig_mod.module."}) {
    for (const char* name : {"qwen3", "t5_gated"}) {
      SCOPED_TRACE(std::string(prefix) + name);
      EditedModel model(name);
      model.rename([&](const std::string& tensor) { return prefix + tensor; });
      expect_same(model, name);
      if (name == std::string("t5_gated")) continue;
      EditedModel bare(name);
      bare.rename([&](const std::string& tensor) { return prefix + without_prefix(tensor, "model."); });
      expect_same(bare, name);
    }
  }
}

TEST(RunnerCheckpoints, OfAModelWithoutItsHeadAreTied) {
  EditedModel model("qwen2");
  ASSERT_EQ(model.tensors.count("lm_head.weight"), 0U);
  model.rename([](const std::string& tensor) { return without_prefix(tensor, "model."); });
  model.config["architectures"] = {"Qwen2Model"};
  expect_same(model, "qwen2");
  model.config["tie_word_embeddings"] = false;
  const Folder folder;
  model.write(folder);
  Opening how;
  expect_failure(SIDBEAM_CORRUPT, "has no output layer, tensor 'lm_head.weight'", [&] { open_at(folder.path(), how); });
}

// Of a T5 that transformers runs with embeddings that differ.
TEST(RunnerCheckpoints, MayHaveCopiesOfAT5sEmbeddingButNoOthers) {
  for (const char* copy : {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}) {
    EditedModel model("t5_gated");
    model.tensors[copy] = model.tensors.at("shared.weight");
    expect_same(model, "t5_gated");
    std::string& bytes = model.tensors.at(copy).bytes;
    bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 1);
    const Folder folder;
    model.write(folder);
    Opening how;
    expect_failure(
        SIDBEAM_UNSUPPORTED,
        std::string("tensor '") + copy + "' is not the same as 'shared.weight' at [49, 35], expected its copy",
        [&] { open_at(folder.path(), how); });
  }
}

TEST(RunnerCheckpoints, GiveTheSameBitsInF64) {
  EditedModel model("t5_relu");
  for (auto& [name, tensor] : model.tensors) {
    const std::vector<float> values = tensor.floats();
    tensor = EditedTensor::of("F64", tensor.shape, std::vector<double>(values.begin(), values.end()));
  }
  expect_same(model, "t5_relu");
}

// q, k and v, and gate and up, are the same matrices in one tensor and in several.
TEST(RunnerCheckpoints, GiveTheSameBitsOfFusedTensors) {
  EditedModel model("phi3");
  const int64_t heads = model.config["num_attention_heads"], kv_heads = model.config["num_key_value_heads"];
  const int64_t dim = model.config["hidden_size"].get<int64_t>() / heads;
  const auto split = [&](const std::string& name, const std::string& from,
                         const std::vector<std::pair<std::string, int64_t>>& parts) {
    const EditedTensor whole = model.tensors.at(name + from + ".weight");
    model.tensors.erase(name + from + ".weight");
    const auto row = whole.bytes.size() / static_cast<size_t>(whole.shape[0]);
    size_t at = 0;
    for (const auto& [part, rows] : parts) {
      model.tensors[name + part + ".weight"] = {
          whole.dtype, {rows, whole.shape[1]}, whole.bytes.substr(at, static_cast<size_t>(rows) * row)};
      at += static_cast<size_t>(rows) * row;
    }
  };
  for (int layer = 0; layer < 2; ++layer) {
    const std::string path = "model.layers." + std::to_string(layer) + ".";
    split(path + "self_attn.", "qkv_proj",
          {{"q_proj", heads * dim}, {"k_proj", kv_heads * dim}, {"v_proj", kv_heads * dim}});
    split(path + "mlp.", "gate_up_proj", {{"gate_proj", 32}, {"up_proj", 32}});
  }
  model.config["model_type"] = "llama", model.config["architectures"] = {"LlamaForCausalLM"};
  model.config.erase("sliding_window");
  expect_same(model, "phi3");
}

TEST(RunnerCheckpoints, SayWhatIsLeftOfThem) {
  EditedModel model("llama");
  model.config["num_hidden_layers"] = 1;
  model.config["mlp_bias"] = false;
  model.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {"F32", {1}, "1234"};  // that one is nobody's loss
  const Folder folder;
  model.write(folder);
  Opening how;
  open_at(folder.path(), how);
  ASSERT_EQ(how.log.size(), 1U);
  EXPECT_NE(how.log[0].find(": config.json asks for none of 19 tensors, which are left: "
                            "model.layers.0.mlp.down_proj.bias, model.layers.0.mlp.gate_proj.bias, "
                            "model.layers.0.mlp.up_proj.bias, model.layers.1.input_layernorm.weight, "
                            "model.layers.1.mlp.down_proj.bias and 14 more"),
            std::string::npos)
      << how.log[0];
}

struct Damage {
  const char *name, *tensor;
  size_t element;
  std::string where;
};

// However the weights are held, in whichever kind of tensor it is: a number that is none is refused.
TEST(RunnerCheckpoints, RefuseNumbersThatAreNotFinite) {
  const Damage all[] = {
      {"llama", "model.layers.1.mlp.down_proj.weight", 57, "[1, 1]"},
      {"llama", "model.layers.0.self_attn.k_proj.weight", 799, "[19, 39]"},
      {"llama", "model.layers.0.self_attn.k_proj.bias", 3, "[3]"},
      {"llama", "model.norm.weight", 39, "[39]"},
      {"llama", "lm_head.weight", 0, "[0, 0]"},
      {"llama", "model.embed_tokens.weight", 1999, "[49, 39]"},
      {"t5_relu", "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", 4, "[1, 1]"}};
  for (const Damage& damage : all) {
    for (const float value : {kNan, -kNan, kInfinity, -kInfinity}) {
      EditedModel model(damage.name);
      model.tensors.at(damage.tensor).set(damage.element, value);
      const Folder folder;
      model.write(folder);
      for (int32_t weights = SIDBEAM_WEIGHTS_STORED; weights <= SIDBEAM_WEIGHTS_INT8; ++weights) {
        SCOPED_TRACE(std::string(damage.tensor) + " " + std::to_string(value) + " as " + std::to_string(weights));
        Opening how;
        how.weights = weights;
        expect_failure(SIDBEAM_CORRUPT, damage.where + ", expected finite numbers",
                       [&] { open_at(folder.path(), how); });
        expect_failure(SIDBEAM_CORRUPT, std::string("tensor '") + damage.tensor, [&] { open_at(folder.path(), how); });
      }
    }
  }
}

TEST(RunnerCheckpoints, RefuseHalvesThatAreNotFinite) {
  const auto refused = [](const char* name, const char* tensor, uint16_t bits, const char* phrase) {
    EditedModel model(name);
    model.tensors.at(tensor).set(7, bits);
    const Folder folder;
    model.write(folder);
    for (int32_t weights = SIDBEAM_WEIGHTS_STORED; weights <= SIDBEAM_WEIGHTS_INT8; ++weights) {
      SCOPED_TRACE(std::string(name) + " as " + std::to_string(weights));
      Opening how;
      how.weights = weights;
      expect_failure(SIDBEAM_CORRUPT, phrase, [&] { open_at(folder.path(), how); });
    }
  };
  for (const char* tensor :
       {"model.layers.0.self_attn.q_proj.weight", "model.norm.weight", "model.embed_tokens.weight"}) {
    refused("qwen3", tensor, 0x7C00, "is inf at");
    refused("qwen3", tensor, 0xFC01, "nan at");
    refused("qwen2", tensor, 0xFF80, "is -inf at");
    refused("qwen2", tensor, 0x7FC0, "nan at");
  }
}

// Numbers that are finite, and would not be in 16 bits.
TEST(RunnerCheckpoints, RefuseNumbersThatTheirFormHasNoRoomFor) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  for (const char* tensor : {"model.layers.1.mlp.down_proj.weight", "model.embed_tokens.weight", "lm_head.weight"}) {
    SCOPED_TRACE(tensor);
    const auto open = [&](float value, int32_t weights) {
      EditedModel model("llama");
      model.tensors.at(tensor).set(3, value);
      const Folder folder;
      model.write(folder);
      Opening how;
      how.weights = weights;
      open_at(folder.path(), how);
    };
    const std::string said = std::string("config.weights: tensor '") + tensor;
    expect_failure(SIDBEAM_INVALID_ARGUMENT, said, [&] { open(65520.0F, SIDBEAM_WEIGHTS_F16); });
    expect_failure(SIDBEAM_INVALID_ARGUMENT,
                   "is -1e+06 at [0, 3], which 16 bits do not hold; expected weights as stored",
                   [&] { open(-1e6F, SIDBEAM_WEIGHTS_F16); });
    expect_failure(SIDBEAM_INVALID_ARGUMENT, said, [&] { open(kLargest, SIDBEAM_WEIGHTS_BF16); });
    EXPECT_NO_THROW(open(65519.9F, SIDBEAM_WEIGHTS_F16));
    EXPECT_NO_THROW(open(3.38e38F, SIDBEAM_WEIGHTS_BF16));
    for (const int32_t weights : {SIDBEAM_WEIGHTS_STORED, SIDBEAM_WEIGHTS_F32, SIDBEAM_WEIGHTS_INT8})
      EXPECT_NO_THROW(open(kLargest, weights));
  }
  EditedModel wide("qwen2");  // bf16, of which f16 holds less
  wide.tensors.at("model.layers.0.mlp.up_proj.weight").set(0, uint16_t{0x4780});
  const Folder folder;
  wide.write(folder);
  Opening how;
  how.weights = SIDBEAM_WEIGHTS_F16;
  expect_failure(SIDBEAM_INVALID_ARGUMENT, "is 65536 at [0, 0]", [&] { open_at(folder.path(), how); });
  EditedModel doubles("mistral");
  doubles.tensors.at("lm_head.weight").set(25, 1e39);
  doubles.write(folder);
  how.weights = SIDBEAM_WEIGHTS_STORED;
  expect_failure(SIDBEAM_CORRUPT, "is inf at [1, 1], expected finite numbers, of an F64 within f32",
                 [&] { open_at(folder.path(), how); });
}

// Truncates a file when it is asked for memory for the n-th time: between any two pieces that are read.
struct Truncating {
  std::string path;
  int64_t calls = 0, at = 0, live = 0;

  static void* allocate(void* context, int64_t bytes, int64_t alignment) {
    auto& self = *static_cast<Truncating*>(context);
    if (++self.calls == self.at) std::filesystem::resize_file(self.path, 9000);
    self.live += bytes;
    return default_allocator().allocate(bytes, alignment);
  }
  static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
    static_cast<Truncating*>(context)->live -= bytes;
    default_allocator().release(memory, bytes, alignment);
  }
};

TEST(RunnerCheckpoints, ThatAreTruncatedWhileTheyAreOpenedAreAnError) {
  int refused = 0;
  for (int64_t at = 1;; ++at) {
    const Folder folder;
    EditedModel("qwen3").write(folder);
    Truncating memory{folder.path("model.safetensors"), 0, at, 0};
    const sidbeam_allocator given = {(uint32_t)sizeof(sidbeam_allocator), &memory, Truncating::allocate,
                                     Truncating::release};
    sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
    config.allocator = &given;
    try {
      Ref<Model>::adopt(open_model(folder.path(), config));
    } catch (const Failure& failure) {
      ++refused;
      EXPECT_EQ(failure.status, SIDBEAM_IO_ERROR) << failure.message;
      EXPECT_NE(std::string(failure.message).find("model.safetensors': it ended at byte"), std::string::npos)
          << failure.message;
    }
    EXPECT_EQ(memory.live, 0);
    if (memory.calls < at) break;
  }
  EXPECT_GT(refused, 10);
}

// All runners that normalise over the vocabulary share one packed output layer, which is the model's.
// A model with a tensor per shard.
void write_shards(const EditedModel& model, const Folder& folder) {
  folder.write("config.json", model.config.dump());
  Json index;
  for (const auto& [name, tensor] : model.tensors) {
    const std::string file = "model-" + std::to_string(index["weight_map"].size()) + ".safetensors";
    index["weight_map"][name] = file;
    write_tensors(folder, file.c_str(), {{name, tensor}});
  }
  folder.write("model.safetensors.index.json", index.dump());
}

// As many descriptors as a process may have.
class Descriptors {
 public:
  explicit Descriptors(rlim_t most) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit few{most, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~Descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(RunnerCheckpoints, MayHaveMoreShardsThanThereAreDescriptors) {
  const Folder folder;
  const EditedModel model("qwen3");
  write_shards(model, folder);
  const Descriptors few(16);
  ASSERT_GT(model.tensors.size(), 16U);
  Opening how;
  EXPECT_EQ(logits_of(*open_at(folder.path(), how), Golden("qwen3")), logits_of("qwen3"));
}

TEST(RunnerCheckpoints, OfWhichAShardIsReplacedWhileTheyAreReadAreAnError) {
  const Folder folder;
  EditedModel model("qwen3");
  write_shards(model, folder);
  const Checkpoint checkpoint(folder.path());
  const StoredTensor stored = checkpoint.at(0), last = checkpoint.at(checkpoint.size() - 1);
  const Weights weights = checkpoint.tensor(stored.name, stored.shape);
  std::vector<std::byte> out(static_cast<size_t>(stored.bytes));
  checkpoint.read(weights, 0, weights.elements, out.data());
  const std::string path = checkpoint.path_of(weights);
  std::filesystem::copy_file(path, path + ".new");
  std::filesystem::rename(path + ".new", path);
  checkpoint.read(weights, 0, weights.elements, out.data());  // it is still open
  std::byte one[8];
  checkpoint.read(checkpoint.tensor(last.name, last.shape), 0, 1, one);
  expect_failure(SIDBEAM_IO_ERROR, path + "' was changed or replaced while the checkpoint was read",
                 [&] { checkpoint.read(weights, 0, weights.elements, out.data()); });
}

TEST(RunnerCheckpoints, HaveTheirOutputLayerPackedOnce) {
  for (const int32_t weights : {SIDBEAM_WEIGHTS_STORED, SIDBEAM_WEIGHTS_INT8}) {
    const Golden golden("qwen3");
    const Ref<Model> model = open_small("qwen3", weights);
    const int64_t before = model->info().memory_bytes;
    const ModelLane one(*model, golden, workers_of(), 1), other(*model, golden, workers_of(), 1);
    const auto& packed = static_cast<const CpuOutput&>(*one.output).matrix(0);
    EXPECT_EQ(&packed, &static_cast<const CpuOutput&>(*other.output).matrix(0));
    EXPECT_EQ(packed.outputs, kVocabulary);
    EXPECT_EQ(model->info().memory_bytes, before + packed.memory_bytes());
    EXPECT_LT(one.output->memory_bytes(), packed.memory_bytes());
  }
}

}  // namespace
}  // namespace sidbeam::runner
