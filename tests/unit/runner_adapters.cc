// LoRA adapters: merged with their base they give the logits of the model that was merged by hand.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "edited_model.h"
#include "runner/formats/adapter.h"
#include "runner/models/tensors.h"

namespace sidbeam::runner {
namespace {

// An adapter of these of a model's matrices, of rank 2 and alpha 3, beside it or in another folder; and the model with
// the same merged by hand.
struct Adapted {
  EditedModel base{"llama"}, merged{"llama"};
  EditedTensors adapter;
  Json config = {{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 3}, {"base_model_name_or_path", "someone/base"}};

  Adapted() : Adapted(1.5F, 1.5F) {}
  Adapted(float scale, float scale_down) {
    change("model.layers.0.self_attn.q_proj", scale), change("model.layers.1.mlp.down_proj", scale_down);
    embed(scale);
    EditedTensor& head = merged.tensors.at("lm_head.weight");
    for (size_t i = 0; i < head.bytes.size() / sizeof(float); ++i) head.set(i, 0.01F * static_cast<float>(i % 17));
    adapter["base_model.model.lm_head.weight"] = head;
  }
  std::vector<float> drawn(int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = 0.1F * static_cast<float>(static_cast<int>(random() % 19) - 9);
    return values;
  }
  static float product(const std::vector<float>& up, const std::vector<float>& down, int64_t row, int64_t column,
                       int64_t columns) {
    float sum = 0;
    for (int64_t k = 0; k < 2; ++k)
      sum += up[static_cast<size_t>(2 * row + k)] * down[static_cast<size_t>(k * columns + column)];
    return sum;
  }
  // `turned`: of an embedding A is [rank, tokens] and B [width, rank], and the product is transposed.
  void add(const std::string& name, float scale, const std::vector<float>& up, const std::vector<float>& down,
           bool turned) {
    EditedTensor& tensor = merged.tensors.at(name + ".weight");
    const int64_t rows = tensor.shape[0], columns = tensor.shape[1];
    const std::vector<float> before = tensor.floats();
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t column = 0; column < columns; ++column) {
        const float sum = turned ? product(up, down, column, row, rows) : product(up, down, row, column, columns);
        const auto i = static_cast<size_t>(row * columns + column);
        tensor.set(i, before[i] + scale * sum);
      }
  }
  void change(const std::string& name, float scale) {
    const std::vector<int64_t> shape = merged.tensors.at(name + ".weight").shape;
    const std::vector<float> down = drawn(2 * shape[1]), up = drawn(2 * shape[0]);
    add(name, scale, up, down, false);
    adapter["base_model.model." + name + ".lora_A.weight"] = EditedTensor::of("F32", {2, shape[1]}, down);
    adapter["base_model.model." + name + ".lora_B.weight"] = EditedTensor::of("F32", {shape[0], 2}, up);
  }
  void embed(float scale) {
    const std::string name = "model.embed_tokens";
    const std::vector<int64_t> shape = merged.tensors.at(name + ".weight").shape;
    const std::vector<float> a = drawn(2 * shape[0]), b = drawn(2 * shape[1]);
    add(name, scale, b, a, true);
    adapter["base_model.model." + name + ".lora_embedding_A"] = EditedTensor::of("F32", {2, shape[0]}, a);
    adapter["base_model.model." + name + ".lora_embedding_B"] = EditedTensor::of("F32", {shape[1], 2}, b);
  }
  void write(const Folder& folder) const {
    folder.write("adapter_config.json", config.dump());
    write_tensors(folder, "adapter_model.safetensors", adapter);
  }

  std::mt19937 random{7};
};

std::vector<Logits> logits_at(const std::string& folder, const std::string& base = "") {
  Opening how;
  how.base = base;
  return logits_of(*open_at(folder, how), Golden("llama"));
}

void expect_near(const std::vector<Logits>& found, const std::vector<Logits>& expected) {
  for (size_t i = 0; i < expected.size(); ++i)
    for (size_t j = 0; j < expected[i].size(); ++j) EXPECT_NEAR(found[i][j], expected[i][j], 2e-4F);
}

TEST(RunnerAdapters, AreMergedWithTheirBase) {
  const Adapted made;
  const Folder merged, base, adapter, together;
  made.merged.write(merged);
  made.base.write(base), made.write(adapter);
  made.base.write(together), made.write(together);
  const std::vector<Logits> expected = logits_at(merged.path());
  EXPECT_EQ(logits_at(adapter.path(), base.path()), expected);
  EXPECT_EQ(logits_at(together.path()), expected);
  EXPECT_NE(logits_at(base.path()), expected);
  // A folder beside it that is called so.
  const Folder parent;
  std::filesystem::create_directory(parent.path("adapter")), std::filesystem::create_directory(parent.path("base"));
  for (const char* file : {"adapter_config.json", "adapter_model.safetensors"})
    std::filesystem::copy_file(adapter.path(file), parent.path(std::string("adapter/") + file));
  for (const char* file : {"config.json", "model.safetensors"})
    std::filesystem::copy_file(base.path(file), parent.path(std::string("base/") + file));
  EXPECT_EQ(logits_at(parent.path("adapter")), expected);
}

TEST(RunnerAdapters, MayScaleByTheRootOfTheirRank) {
  Adapted made(3.0F / std::sqrt(2.0F), 3.0F / std::sqrt(2.0F));
  made.config["use_rslora"] = true;
  const Folder merged, together;
  made.merged.write(merged), made.base.write(together), made.write(together);
  expect_near(logits_at(together.path()), logits_at(merged.path()));
}

// The adapter of a folder together with its base, and the model that was merged by hand.
void expect_merged(const Adapted& made) {
  const Folder merged, together;
  made.merged.write(merged), made.base.write(together), made.write(together);
  EXPECT_EQ(logits_at(together.path()), logits_at(merged.path()));
}

// The first key of a pattern that is the end of a module's path counts; a dot is any character.
TEST(RunnerAdapters, MayHaveRanksAndScalesByPattern) {
  Adapted made(1.5F, 3.0F);
  made.config["r"] = 5;
  made.config["rank_pattern"] = {{"proj", 9}, {"q_proj", 2}, {"down_proj", 2}, {"embed.tokens", 2}};
  made.config["alpha_pattern"] = {
      {"1.mlp.down_proj", 6}, {"^layers.1.mlp.down_proj", 100}, {"^model.layers.1.mlp.down_proj", 50}, {"proj", 70}};
  expect_merged(made);
  made.config["alpha_pattern"] = {{"^model.layers.1.mlp.down_proj", 6}, {"down_proj", 50}};
  expect_merged(made);
  made.config["rank_pattern"] = Json::object(), made.config["alpha_pattern"] = Json::object(), made.config["r"] = 2;
  made.config["lora_alpha"] = 6;  // of all of them
  const Folder merged, together;
  made.merged.write(merged), made.base.write(together), made.write(together);
  EXPECT_NE(logits_at(together.path()), logits_at(merged.path()));
}

// All rows of a tensor, or some of them, in pieces of about so many bytes.
std::vector<float> rows_of(const Folder& folder, const std::string& name, int64_t first, int64_t rows, int64_t piece) {
  const Adapter adapter(folder.path());
  const Checkpoint checkpoint(folder.path());
  ModelTensors tensors(default_allocator(), checkpoint, &adapter, read_config(folder.path()), piece);
  const std::span<const int64_t> shape = checkpoint.shape_of(name);
  std::vector<float> all;
  tensors.read(tensors.rows(name, shape[0], shape[1], first, rows), Dtype::kF32, [&](int64_t row, const Tensor& found) {
    EXPECT_EQ(row * shape[1], std::ssize(all));
    all.resize(all.size() + static_cast<size_t>(found.outputs * found.inputs));
    widen(found, 0, found.outputs * found.inputs, all.data() + row * shape[1]);
  });
  return all;
}

TEST(RunnerAdapters, AreMergedAlikeInPiecesOfAnySize) {
  const Adapted made;
  const Folder together;
  made.base.write(together), made.write(together);
  for (const char* name : {"model.layers.1.mlp.down_proj.weight", "model.embed_tokens.weight", "lm_head.weight"}) {
    const EditedTensor& merged = made.merged.tensors.at(name);
    const int64_t columns = merged.shape[1];
    const std::vector<float> whole = merged.floats();
    for (const int64_t piece : {int64_t{1}, 4 * 7 * columns, int64_t{1} << 20}) {
      EXPECT_EQ(rows_of(together, name, 0, merged.shape[0], piece), whole);
      EXPECT_EQ(rows_of(together, name, 9, 20, piece),
                std::vector<float>(whole.begin() + 9 * columns, whole.begin() + 29 * columns));
    }
  }
}

// As PEFT saves a layer that has a product beside it: the embedding and the output layer always, biases if it is told.
TEST(RunnerAdapters, MayHaveTheLayersBeneathTheirProducts) {
  Adapted made;
  EditedTensor& base = made.base.tensors.at("model.embed_tokens.weight");
  made.adapter["base_model.model.model.embed_tokens.base_layer.weight"] = base;
  for (size_t i = 0; i < base.bytes.size() / sizeof(float); ++i) base.set(i, 0.5F);  // which does not count
  made.config["bias"] = "all";
  const std::string query = "self_attn.q_proj", key = "self_attn.k_proj", outer = "base_model.model.";
  for (const auto& [name, in_adapter] : {std::pair(query, query + ".base_layer"), std::pair(key, key)}) {
    EditedTensor& bias = made.merged.tensors.at("model.layers.0." + name + ".bias");
    for (size_t i = 0; i < bias.bytes.size() / sizeof(float); ++i) bias.set(i, 0.125F * static_cast<float>(i % 5));
    made.adapter[outer + "model.layers.0." + in_adapter + ".bias"] = bias;
  }
  expect_merged(made);
}

// An embedding and an output layer that were saved whole may have new tokens.
TEST(RunnerAdapters, MayHaveMoreTokens) {
  Adapted made;
  for (const char* name : {"lora_embedding_A", "lora_embedding_B"})
    made.adapter.erase(std::string("base_model.model.model.embed_tokens.") + name);
  const std::vector<float> wide(60 * 40, 0.25F);
  made.adapter["base_model.model.model.embed_tokens.weight"] = EditedTensor::of("F32", {60, 40}, wide);
  made.adapter["base_model.model.lm_head.weight"] = EditedTensor::of("F32", {60, 40}, wide);
  const Folder together;
  made.base.write(together), made.write(together);
  Opening how;
  EXPECT_EQ(open_at(together.path(), how)->info().vocabulary, 60);
  EXPECT_TRUE(how.log.empty());
}

TEST(RunnerAdapters, AreRefusedWhereTheyCannotBeMerged) {
  const auto refused = [](sidbeam_status status, const std::string& phrase, const auto& alter) {
    Adapted made;
    alter(made);
    const Folder base, adapter;
    made.base.write(base), made.write(adapter);
    expect_failure(status, phrase, [&] { logits_at(adapter.path(), base.path()); });
  };
  const auto unsupported = [&](const std::string& phrase, const char* field, const Json& value) {
    refused(SIDBEAM_UNSUPPORTED, phrase, [&](Adapted& made) { made.config[field] = value; });
  };
  unsupported("peft_type 'IA3', expected LORA", "peft_type", "IA3");
  for (const char* name : {"use_dora", "lora_bias", "use_qalora"})
    unsupported(std::string(name) + " set, expected null or false: merge the adapter with PEFT", name, true);
  for (const char* name : {"use_bdlora", "arrow_config", "kasa_config", "monteclora_config", "velora_config"})
    unsupported(std::string(name) + " set, expected null or false", name, {{"x", 1}});
  unsupported("layer_replication set, expected null or false", "layer_replication", Json::array({{0, 1}}));
  unsupported("rank_pattern the regular expression 'layers.*q_proj', expected names of modules alone", "rank_pattern",
              {{"layers.*q_proj", 4}});
  unsupported("init_lora_weights 'pissa'", "init_lora_weights", "pissa");
  refused(SIDBEAM_UNSUPPORTED, "adapter's tensor 'base_model.model.x.lora_A.weight' changes nothing",
          [](Adapted& made) {
            made.adapter["base_model.model.x.lora_A.weight"] = EditedTensor::of("F32", {1}, std::vector<float>{1});
          });
  refused(SIDBEAM_CORRUPT, "lora_B.weight' of", [](Adapted& made) {
    made.adapter["base_model.model.model.layers.1.mlp.down_proj.lora_B.weight"] =
        EditedTensor::of("F32", {1, 2}, std::vector<float>{1, 2});
  });
  refused(SIDBEAM_CORRUPT, "lora_A.weight' of", [](Adapted& made) {
    made.config["rank_pattern"] = {{"down_proj", 4}};
  });
  refused(SIDBEAM_CORRUPT, "down_proj.lora_B.weight' of", [](Adapted& made) {
    made.adapter["base_model.model.model.layers.1.mlp.down_proj.lora_B.weight"].set(
        0, std::numeric_limits<float>::quiet_NaN());
  });
  const Folder alone, base_of_both;
  Adapted().write(alone), Adapted().base.write(base_of_both), Adapted().write(base_of_both);
  expect_failure(SIDBEAM_UNSUPPORTED,
                 std::string(base_of_both.path()) + "', has an adapter of its own, adapter_config.json: merge",
                 [&] { logits_at(alone.path(), base_of_both.path()); });
  expect_failure(SIDBEAM_UNSUPPORTED,
                 "is a LoRA adapter of 'someone/base', whose folder is not beside it: give that as",
                 [&] { logits_at(alone.path()); });
  expect_failure(SIDBEAM_INVALID_ARGUMENT, "config.base is given, expected NULL",
                 [&] { logits_at(model_folder("llama"), model_folder("llama")); });
}

// PEFT's own results differ with the way that they are had; a tensor that is saved whole for both is none of these.
TEST(RunnerAdapters, OfATiedEmbeddingAreRefused) {
  const std::string head = "base_model.model.lm_head.", embed = "base_model.model.model.embed_tokens.";
  const auto tied = [] {
    Adapted made;
    for (EditedModel* model : {&made.base, &made.merged}) {
      model->config["tie_word_embeddings"] = true;
      model->tensors.erase("lm_head.weight");
    }
    return made;
  };
  const auto refused = [](const std::string& phrase, const Adapted& made) {
    const Folder together;
    made.base.write(together), made.write(together);
    expect_failure(SIDBEAM_UNSUPPORTED, phrase, [&] { logits_at(together.path()); });
  };
  Adapted made = tied();
  const char* const kEmbedding = "changes 'model.embed_tokens', which is the same tensor as the output layer (tied)";
  refused(kEmbedding, made);
  made.adapter.erase(head + "weight"), refused(kEmbedding, made);
  const EditedTensor a = made.adapter.at(embed + "lora_embedding_A"), b = made.adapter.at(embed + "lora_embedding_B");
  made.adapter.erase(embed + "lora_embedding_A"), made.adapter.erase(embed + "lora_embedding_B");
  made.adapter[embed + "weight"] = made.base.tensors.at("model.embed_tokens.weight");
  refused(kEmbedding, made);
  made.adapter.erase(embed + "weight");
  made.adapter[head + "lora_A.weight"] = made.adapter[head + "lora_B.weight"] = a;
  refused("changes 'lm_head', which is the same tensor as the embedding (tied), expected one that changes neither",
          made);

  Adapted whole = tied();
  whole.adapter.erase(embed + "lora_embedding_A"), whole.adapter.erase(embed + "lora_embedding_B");
  whole.adapter[embed + "weight"] = whole.merged.tensors.at("model.embed_tokens.weight");
  whole.merged.tensors["lm_head.weight"] = whole.adapter.at(head + "weight");
  expect_merged(whole);
}

TEST(RunnerAdapters, OfAT5sEmbeddingsAreRefused) {
  for (const char* name : {"shared", "encoder.embed_tokens", "decoder.embed_tokens"}) {
    const EditedModel base("t5_gated");
    const Folder together;
    base.write(together);
    together.write("adapter_config.json", R"({"peft_type": "LORA", "r": 2, "lora_alpha": 3})");
    write_tensors(together, "adapter_model.safetensors",
                  {{std::string("base_model.model.") + name + ".weight", base.tensors.at("shared.weight")}});
    expect_failure(SIDBEAM_UNSUPPORTED,
                   std::string("changes '") + name + "', which is the same tensor as the other embeddings of a T5",
                   [&] { logits_at(together.path()); });
  }
}

}  // namespace
}  // namespace sidbeam::runner
