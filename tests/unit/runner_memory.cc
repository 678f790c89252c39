// Memory while files are opened: every allocation may fail, and a large header does not become many times as large.
// This program replaces operator new.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <new>

#include "runner/formats/checkpoint.h"
#include "runner/formats/config.h"
#include "runner/models/model.h"
#include "runner_folder.h"

namespace {

struct Watch {
  bool on = false, forever = false;
  int64_t calls = 0, fail_at = 0;  // counted from 1; 0: none
  int64_t blocks = 0, bytes = 0, most_bytes = 0;
} watch;

bool fails() {
  if (!watch.on) return false;
  ++watch.calls;
  return watch.calls == watch.fail_at || (watch.forever && watch.fail_at != 0 && watch.calls > watch.fail_at);
}

}  // namespace

void* operator new(size_t bytes) {
  void* memory = fails() ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  if (watch.on) {
    ++watch.blocks;
    watch.bytes += static_cast<int64_t>(malloc_usable_size(memory));
    watch.most_bytes = std::max(watch.most_bytes, watch.bytes);
  }
  return memory;
}
void operator delete(void* memory) noexcept {
  if (watch.on && memory != nullptr) {
    --watch.blocks;
    watch.bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  }
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept { operator delete(memory); }

namespace sidbeam::runner {
namespace {

// Runs `call` with the fail_at-th allocation failing; whether it came to that.
template <class Call>
bool run_with_failure(int64_t fail_at, bool forever, const Call& call) {
  watch = {true, forever, 0, fail_at, 0, 0, 0};
  bool thrown = false;
  try {
    call();
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  watch.on = false;
  EXPECT_EQ(watch.blocks, 0) << "allocation " << fail_at;
  EXPECT_EQ(thrown, watch.calls >= fail_at) << "allocation " << fail_at;
  return thrown;
}

template <class Call>
void fail_every_allocation(const Call& call) {
  for (const bool forever : {false, true}) {
    int64_t fail_at = 1;
    while (run_with_failure(fail_at, forever, call)) ++fail_at;
    EXPECT_GT(fail_at, 5);
  }
}

TEST(RunnerMemory, EveryAllocationOfAConfigMayFail) {
  for (const char* name : {"Llama-3.2-1B", "transformers-t5-v1.1", "transformers-qwen3"}) {
    const Folder folder;
    folder.write("config.json", read_all(std::string(SIDBEAM_CONFIGS "/") + name + ".json"));
    folder.write("generation_config.json", R"({"decoder_start_token_id": 1})");
    fail_every_allocation([&] { read_config(folder.path()); });
  }
}

TEST(RunnerMemory, EveryAllocationOfACheckpointMayFail) {
  const Folder folder;
  std::string map;
  for (int shard = 0; shard < 3; ++shard) {
    const std::string file = "a-long-name-of-a-shard-" + std::to_string(shard) + ".safetensors";
    std::string header = "{";
    for (int i = 0; i < 5; ++i) {
      const std::string name = "a.long.name.of.a.tensor." + std::to_string(shard) + "." + std::to_string(i);
      header += (i == 0 ? "\"" : ",\"") + name + R"(":{"dtype":"F16","shape":[1],"data_offsets":[)" +
                std::to_string(2 * i) + "," + std::to_string(2 * i + 2) + "]}";
      map += (map.empty() ? "\"" : ",\"") + name + "\":\"" + file + "\"";
    }
    folder.write(file, safetensors(header + "}", "0123456789"));
  }
  folder.write("model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
  fail_every_allocation([&] {
    const Checkpoint checkpoint(folder.path());
    ASSERT_EQ(checkpoint.tensor("a.long.name.of.a.tensor.2.4", {1}).elements, 1);
  });
}

// The worst headers: of the shortest tensors, of the longest shapes, of one name, of one long list.
TEST(RunnerMemory, StaysNearTheSizeOfTheHeader) {
  constexpr size_t kBytes = 4 << 20;
  std::string many = "{", ranks = "{", nested = R"({"a":{"shape":[)";
  while (many.size() < kBytes)
    many += (many.size() == 1 ? "\"" : ",\"") + std::to_string(many.size()) +
            R"(":{"dtype":"","shape":[],"data_offsets":[0,0]})";
  while (ranks.size() < kBytes)
    ranks += (ranks.size() == 1 ? "\"" : ",\"") + std::to_string(ranks.size()) +
             R"(":{"dtype":"","shape":[0,0,0,0,0,0,0,0],"data_offsets":[0,0]})";
  while (nested.size() < kBytes) nested += "0,";
  const std::string name = "{\"" + std::string(kBytes, 'n') + R"(":{"dtype":"","shape":[],"data_offsets":[0,0]}})";
  for (const std::string& header : {many + "}", ranks + "}", nested, name, "{\"" + name, std::string(kBytes, '[')}) {
    const std::string text = safetensors(header, "");
    const std::vector<uint8_t> bytes(text.begin(), text.end());
    watch = {true, false, 0, 0, 0, 0, 0};
    try {
      const Safetensors table("large", bytes, std::ssize(bytes));
      EXPECT_GT(table.size(), 0);
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.status, SIDBEAM_CORRUPT);
    }
    watch.on = false;
    EXPECT_LT(watch.most_bytes, int64_t{6} * kBytes) << header.substr(0, 40);
  }
}

// Memory of the caller's, as much of it as there was at once.
struct PeakMemory {
  int64_t live = 0, most = 0;

  static void* allocate(void* context, int64_t bytes, int64_t alignment) {
    auto& self = *static_cast<PeakMemory*>(context);
    self.live += bytes;
    self.most = std::max(self.most, self.live);
    return default_allocator().allocate(bytes, alignment);
  }
  static void release(void* context, void* memory, int64_t bytes, int64_t alignment) {
    static_cast<PeakMemory*>(context)->live -= bytes;
    default_allocator().release(memory, bytes, alignment);
  }
};

// Pages that the process has at most from now on; 0 where the system does not tell.
bool forget_peak() { return std::ofstream("/proc/self/clear_refs") << "5" << std::flush ? true : false; }
int64_t peak_pages() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
  return 0;
}

// A safetensors file of zeros.
struct Zeros {
  std::string header = "{";
  int64_t bytes = 0;

  void add(const std::string& name, const char* dtype, int64_t size, std::initializer_list<int64_t> shape) {
    for (const int64_t dimension : shape) size *= dimension;
    header += (bytes == 0 ? "\"" : ",\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":)" +
              format_shape({shape.begin(), shape.size()}) + ",\"data_offsets\":[" + std::to_string(bytes) + "," +
              std::to_string(bytes + size) + "]}";
    bytes += size;
  }
  void add(const std::string& name, std::initializer_list<int64_t> shape) { add(name, "BF16", 2, shape); }
  // Of a decoder with heads of 128 elements, one of them for keys and values.
  void add_layer(const std::string& path, int64_t hidden, int64_t ffn) {
    for (const char* norm : {"input_layernorm.weight", "post_attention_layernorm.weight"}) add(path + norm, {hidden});
    for (const char* part : {"q", "o"}) add(path + "self_attn." + part + "_proj.weight", {hidden, hidden});
    for (const char* part : {"k", "v"}) add(path + "self_attn." + part + "_proj.weight", {128, hidden});
    for (const char* part : {"gate", "up"}) add(path + "mlp." + part + "_proj.weight", {ffn, hidden});
    add(path + "mlp.down_proj.weight", {hidden, ffn});
  }
  void write(const Folder& folder, const char* name) const {
    folder.write(name, safetensors(header + "}", std::string(static_cast<size_t>(bytes), '\0')));
  }
};

// Opening takes what the model holds, at least so many bytes, and a piece.
void expect_a_piece(const Folder& folder, int64_t least) {
  PeakMemory memory;
  const sidbeam_allocator given = {(uint32_t)sizeof(sidbeam_allocator), &memory, PeakMemory::allocate,
                                   PeakMemory::release};
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.allocator = &given;
  const bool watched = forget_peak();
  const int64_t before = peak_pages();
  watch = {true, false, 0, 0, 0, 0, 0};
  const Ref<Model> model = Ref<Model>::adopt(open_model(folder.path(), config));
  watch.on = false;
  constexpr int64_t kPiece = int64_t{8} << 20;
  const int64_t held = model->info().memory_bytes;
  EXPECT_GT(held, least);
  EXPECT_EQ(memory.live, held);
  EXPECT_LT(memory.most + watch.most_bytes, held + kPiece);
  if (watched) {
    EXPECT_LT(peak_pages() - before, held + kPiece);
  }
}

// A file is never in memory beside what is packed of it, neither copied nor mapped: 64 MB of which half are embeddings.
TEST(RunnerMemory, OpeningAModelTakesWhatItHoldsAndAPiece) {
  const Folder folder;
  folder.write("config.json", R"({"model_type":"llama","vocab_size":8192,"hidden_size":1024,"intermediate_size":2730,)"
                              R"("num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":1,)"
                              R"("tie_word_embeddings":true})");
  Zeros model;
  model.add("model.embed_tokens.weight", {8192, 1024});
  model.add("model.norm.weight", {1024});
  for (const char* layer : {"model.layers.0.", "model.layers.1."}) model.add_layer(layer, 1024, 2730);
  model.write(folder, "model.safetensors");
  expect_a_piece(folder, model.bytes);
}

// Though of both products one matrix is as large as what the model holds.
TEST(RunnerMemory, MergingAnAdapterTakesNoMore) {
  const Folder folder;
  folder.write("config.json", R"({"model_type":"llama","vocab_size":32768,"hidden_size":128,"intermediate_size":64,)"
                              R"("num_hidden_layers":1,"num_attention_heads":1,"tie_word_embeddings":false})");
  Zeros model, adapter;
  for (const char* table : {"model.embed_tokens.weight", "lm_head.weight"}) model.add(table, {32768, 128});
  model.add("model.norm.weight", {128});
  model.add_layer("model.layers.0.", 128, 64);
  model.write(folder, "model.safetensors");
  folder.write("adapter_config.json", R"({"peft_type":"LORA","r":128,"lora_alpha":1})");
  adapter.add("base_model.model.lm_head.lora_A.weight", "F32", 4, {128, 128});
  adapter.add("base_model.model.lm_head.lora_B.weight", "F32", 4, {32768, 128});
  adapter.add("base_model.model.model.embed_tokens.lora_embedding_A", "F32", 4, {128, 32768});
  adapter.add("base_model.model.model.embed_tokens.lora_embedding_B", "F32", 4, {128, 128});
  adapter.write(folder, "adapter_model.safetensors");
  expect_a_piece(folder, model.bytes);
}

}  // namespace
}  // namespace sidbeam::runner
