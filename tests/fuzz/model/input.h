// A folder of a model as one input of the fuzzer: three JSON texts, and how large the rest is; perhaps with a LoRA
// adapter, two more texts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../random.h"

namespace fuzz {

struct ModelInput {
  enum : uint8_t {
    kSharded = 1,     // the weights are in a.safetensors, and the index is written
    kGeneration = 2,  // the index is written as generation_config.json too
    kAdapted = 4,     // there is an adapter
    kApart = 8,       // in a folder of its own, beside that of its base
    kGiven = 16,      // and the base's is named by the caller
    kUnweighted = 32  // the adapter's weights are not there
  };
  std::string config, header, index;
  std::string adapter, adapter_header;
  uint8_t flags = 0;
  uint8_t pattern = 0;      // of the weights' bytes
  uint32_t data_bytes = 0;  // of the weights, at most kMostData
  uint64_t length = 0;      // of the header, as its file says, minus what it is
};
constexpr uint32_t kMostData = 1 << 18;

ModelInput decode_model(const uint8_t* data, size_t size);
std::vector<uint8_t> encode_model(const ModelInput& input);

// The bytes of its safetensors file; and of its adapter's, with as much data as the header speaks of.
std::vector<uint8_t> weights_file(const ModelInput& input);
std::vector<uint8_t> adapter_file(const ModelInput& input);

// Small models that are right, of every family; and adapters of them.
const std::vector<ModelInput>& model_specimens();

using MutateBytes = size_t (*)(uint8_t* data, size_t size, size_t most);
std::vector<uint8_t> mutate_model(const uint8_t* data, size_t size, size_t most, Random& random,
                                  MutateBytes mutate_bytes);

}  // namespace fuzz
