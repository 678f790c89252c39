// A model's folder as others might write it: config.json, the header of its safetensors, the index of its shards; and
// that of a LoRA adapter: adapter_config.json, the header of its safetensors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>

#include "model/expected.h"
#include "model/input.h"
#include "runner/formats/adapter.h"
#include "runner/formats/checkpoint.h"
#include "runner/formats/config.h"
#include "runner/math/workers.h"
#include "runner/models/model.h"
#include "specimens.h"
#include "support/error.h"
#include "tool/scratch.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using sidbeam::Failure;
using sidbeam::runner::Checkpoint;
using sidbeam::runner::Model;
using sidbeam::runner::ModelConfig;
using sidbeam::runner::Safetensors;
using sidbeam::runner::StoredTensor;
using sidbeam::runner::StoredType;

// The status of a call that says why where it fails.
template <class Call>
sidbeam_status status_of(const Call& call) {
  try {
    call();
    return SIDBEAM_OK;
  } catch (const Failure& failure) {
    FUZZ_CHECK(failure.status != SIDBEAM_OK && failure.message[0] != '\0');
    return failure.status;
  }
}

void check_config(const ModelConfig& config) {
  const int64_t most = int64_t{1} << 24;
  for (const int64_t size : {config.layers, config.hidden, config.heads, config.kv_heads, config.head_dim, config.ffn})
    FUZZ_CHECK(size >= 1 && size <= most);
  FUZZ_CHECK(config.heads % config.kv_heads == 0);
  FUZZ_CHECK(config.vocabulary >= 1 && config.vocabulary <= int64_t{1} << 30);
  FUZZ_CHECK(config.norm_epsilon >= 0 && config.norm_epsilon <= 1);
  FUZZ_CHECK(config.decoder_start_token >= -1 && config.decoder_start_token < config.vocabulary);
  if (config.relative_buckets > 0) {
    FUZZ_CHECK(config.encoder_layers >= 1 && config.relative_max_distance > config.relative_buckets / 2);
    FUZZ_CHECK(config.relative_buckets >= 4 && config.output_scale > 0 && config.output_scale <= 1);
  } else {
    const sidbeam::runner::Rope& rope = config.rope;
    FUZZ_CHECK(config.encoder_layers == 0 && config.head_dim % 2 == 0 && config.output_scale == 1);
    FUZZ_CHECK(std::isfinite(rope.theta) && rope.theta > 0 && std::isfinite(rope.factor) && rope.factor > 0);
    FUZZ_CHECK(rope.low_freq > 0 && rope.low_freq < rope.high_freq && std::isfinite(rope.high_freq));
    const bool from_original = rope.scaling == sidbeam::runner::Rope::Scaling::kLlama3 ||
                               rope.scaling == sidbeam::runner::Rope::Scaling::kYarn;
    FUZZ_CHECK(!from_original || rope.original >= 1);
    FUZZ_CHECK(rope.beta_fast > 0 && rope.beta_slow > 0 && std::isfinite(rope.attention) && rope.attention > 0);
  }
}

// In a block of exactly the size of the file's header. What was taken is what a plain reading of the JSON says.
sidbeam_status check_table(const std::vector<uint8_t>& file) {
  const auto size = static_cast<int64_t>(file.size());
  const auto head = static_cast<size_t>(Safetensors::head_bytes(file, size));
  const fuzz::Block block = fuzz::block_of(file.data(), head);
  return status_of([&] {
    const Safetensors table("file", {block.get(), head}, size);
    fuzz::ExpectedTensors expected(file);
    FUZZ_CHECK(table.size() == expected.size());
    for (int64_t i = 0; i < table.size(); ++i) {
      const StoredTensor tensor = table.at(i);
      FUZZ_CHECK(table.find(tensor.name) == i);
      FUZZ_CHECK(expected.has(std::string(tensor.name), tensor.type_name, {tensor.shape.begin(), tensor.shape.end()},
                              tensor.place, static_cast<size_t>(tensor.bytes)));
    }
  });
}

void check_tensor(const Checkpoint& checkpoint, const StoredTensor& tensor, bool named) {
  FUZZ_CHECK(checkpoint.has(tensor.name) == named);
  sidbeam::runner::Weights weights;
  const sidbeam_status status = status_of([&] { weights = checkpoint.tensor(tensor.name, tensor.shape); });
  FUZZ_CHECK(status == (!named                              ? SIDBEAM_CORRUPT
                        : tensor.type == StoredType::kOther ? SIDBEAM_UNSUPPORTED
                                                            : SIDBEAM_OK));
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(weights.elements * size_of(weights.type) == tensor.bytes && weights.place == tensor.place);
  std::vector<uint8_t> read(static_cast<size_t>(tensor.bytes));
  checkpoint.read(weights, 0, weights.elements, read.data());
  std::vector<int64_t> shape(tensor.shape.begin(), tensor.shape.end());
  shape.push_back(1);
  FUZZ_CHECK(status_of([&] { (void)checkpoint.tensor(tensor.name, shape); }) == SIDBEAM_CORRUPT);
}

void check_checkpoint(const std::string& folder, const fuzz::ModelInput& input, sidbeam_status table) {
  const bool sharded = (input.flags & fuzz::ModelInput::kSharded) != 0;
  const sidbeam_status status = status_of([&] {
    const Checkpoint checkpoint(folder.c_str());
    FUZZ_CHECK(!sharded || fuzz::names_only(input.index, "a.safetensors"));
    for (int64_t i = 0; i < checkpoint.size(); ++i) {
      const StoredTensor tensor = checkpoint.at(i);
      check_tensor(checkpoint, tensor, !sharded || checkpoint.has(tensor.name));
    }
  });
  if (sharded)
    FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_CORRUPT || status == SIDBEAM_IO_ERROR);
  else
    FUZZ_CHECK(status == table);
}

void use_logits(sidbeam::runner::Forward& forward, int32_t level, int64_t rows) {
  const float* logits = forward.logits(level);
  static volatile float sum = 0;
  for (int64_t i = 0; i < rows * forward.columns(level); ++i) sum = sum + logits[i];
}

// A model that was taken can be run: a prompt of two tokens, then two beams.
void run_model(const Model& model, uint8_t way) {
  const auto last = static_cast<int32_t>(model.info().vocabulary - 1);
  const int32_t codes[2] = {std::min(last + 1, 3), std::min(last + 1, 2)}, zeros[2] = {0, 0}, beams[2] = {0, 1};
  sidbeam::runner::OutputConfig output_config;
  output_config.levels = 2;
  output_config.codes = codes;
  output_config.normalization = (way & 1) != 0 ? SIDBEAM_NORMALIZE_FULL : SIDBEAM_NORMALIZE_VALID;
  sidbeam::runner::ForwardLimits limits;
  limits.beams = limits.levels = 2;
  limits.max_prompt = 3;
  limits.begin_tokens = zeros;
  limits.begin_count = 1;
  const sidbeam::Allocator allocator = sidbeam::default_allocator();
  const auto output = model.make_output(allocator, output_config);
  const auto forward = model.make_forward(allocator, *output, limits, {sidbeam::best_cpu_target(), nullptr});
  const int32_t tokens[2] = {0, last};
  const sidbeam::runner::Prompt prompt = {tokens, 2, 1, nullptr};
  forward->prefill(&prompt, 1);
  use_logits(*forward, 0, 1);
  forward->decode({2, 1, zeros, zeros, beams, beams});
  use_logits(*forward, 1, 2);
}

bool has(const fuzz::ModelInput& input, uint8_t flag) { return (input.flags & flag) != 0; }
bool is_adapted(const fuzz::ModelInput& input) { return has(input, fuzz::ModelInput::kAdapted); }
bool is_given(const fuzz::ModelInput& input) { return is_adapted(input) && has(input, fuzz::ModelInput::kGiven); }
bool is_apart(const fuzz::ModelInput& input) { return is_adapted(input) && has(input, fuzz::ModelInput::kApart); }

// Where the model is, and the folder that is opened: the adapter's, where there is one.
struct Folders {
  std::string base, opened;
};

std::vector<uint8_t> bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

Folders write_folders(const fuzz::Scratch& scratch, const fuzz::ModelInput& input) {
  const std::string base = is_apart(input) ? "base/" : "", own = is_apart(input) ? "adapter/" : "";
  const bool sharded = has(input, fuzz::ModelInput::kSharded);
  scratch.clear();
  const Folders folders = {scratch.make_folder(base), scratch.make_folder(own)};
  scratch.write(base + "config.json", bytes_of(input.config));
  if (has(input, fuzz::ModelInput::kGeneration)) scratch.write(base + "generation_config.json", bytes_of(input.index));
  if (sharded) scratch.write(base + "model.safetensors.index.json", bytes_of(input.index));
  scratch.write(base + (sharded ? "a.safetensors" : "model.safetensors"), weights_file(input));
  if (!is_adapted(input)) return folders;
  scratch.write(own + "adapter_config.json", bytes_of(input.adapter));
  if (!has(input, fuzz::ModelInput::kUnweighted)) scratch.write(own + "adapter_model.safetensors", adapter_file(input));
  return folders;
}

// What is known of an adapter before its base is looked for.
void check_adapter(const Folders& folders, const fuzz::ModelInput& input) {
  const sidbeam_status status = status_of([&] { const sidbeam::runner::Adapter adapter(folders.opened.c_str()); });
  if (has(input, fuzz::ModelInput::kUnweighted)) {
    FUZZ_CHECK(status == SIDBEAM_IO_ERROR);
  } else {
    FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED);
    FUZZ_CHECK(status != SIDBEAM_OK || fuzz::is_lora(input.adapter));
  }
}

void check_model(const Folders& folders, const fuzz::ModelInput& input) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = input.pattern % (SIDBEAM_WEIGHTS_INT8 + 1);
  if (is_given(input)) config.base = folders.base.c_str();
  const sidbeam_status status = status_of([&] {
    const auto model = sidbeam::Ref<Model>::adopt(sidbeam::runner::open_model(folders.opened.c_str(), config));
    run_model(*model, input.pattern / 8);
  });
  // Weights that are merged may be more than 16 bits hold.
  const bool too_large =
      status == SIDBEAM_INVALID_ARGUMENT && is_adapted(input) && config.weights != SIDBEAM_WEIGHTS_F32;
  FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED ||
             status == SIDBEAM_IO_ERROR || too_large);
  if (status == SIDBEAM_OK && is_apart(input) && !is_given(input)) FUZZ_CHECK(fuzz::base_of(input.adapter) == "base");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Scratch scratch;
  const fuzz::ModelInput input = fuzz::decode_model(data, size);
  const std::vector<uint8_t> file = weights_file(input);
  const Folders folders = write_folders(scratch, input);
  const sidbeam_status status = status_of([&] { check_config(sidbeam::runner::read_config(folders.base.c_str())); });
  FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_CORRUPT || status == SIDBEAM_UNSUPPORTED);
  const sidbeam_status table = check_table(file);
  FUZZ_CHECK(table == SIDBEAM_OK || table == SIDBEAM_CORRUPT);
  check_checkpoint(folders.base, input, table);
  if (is_adapted(input)) check_adapter(folders, input);
  check_model(folders, input);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned int seed) {
  fuzz::Random random{seed};
  const std::vector<uint8_t> out = fuzz::mutate_model(data, size, most, random, LLVMFuzzerMutate);
  std::copy(out.begin(), out.end(), data);
  return out.size();
}
