// Random draft heads and catalogues for them, through the C ABI and for the oracle. All numbers are multiples of 1/64
// below 2, which f32, f16 and bf16 hold exactly. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "handles.h"
#include "oracle/draft.h"
#include "sidbeam/draft.h"

namespace heads {

using DraftHead = std::unique_ptr<sidbeam_draft_head, handles::Releaser<sidbeam_draft_head_release>>;
using DraftDecoder = std::unique_ptr<sidbeam_draft_decoder, handles::Releaser<sidbeam_draft_decoder_destroy>>;

class TemporaryFile {
 public:
  TemporaryFile() : path_((std::filesystem::temp_directory_path() / "sidbeam-head-XXXXXX").string()) {
    const int file = ::mkstemp(path_.data());
    if (file < 0) std::abort();
    ::close(file);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

inline double random_number(std::mt19937_64& random) {
  return static_cast<double>(static_cast<int64_t>(random() % 161) - 80) / 64.0;
}
inline oracle::Vector random_vector(std::mt19937_64& random, int64_t count) {
  oracle::Vector values(static_cast<size_t>(count));
  for (double& value : values) value = random_number(random);
  return values;
}

// The bits of numbers as elements of a dtype.
inline std::string elements_of(const oracle::Vector& values, int32_t dtype) {
  std::string bytes;
  for (const double value : values) {
    const auto number = static_cast<float>(value);
    uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    uint16_t half = static_cast<uint16_t>(bits >> 16);
    if (dtype == SIDBEAM_DTYPE_F16) {
      const uint32_t exponent = (bits >> 23 & 0xFF) == 0 ? 0 : (bits >> 23 & 0xFF) - 112;
      half = static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3FF));
    }
    if (dtype == SIDBEAM_DTYPE_F32) {
      bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
    } else {
      bytes.append(reinterpret_cast<const char*>(&half), sizeof half);
    }
  }
  return bytes;
}

struct HeadShape {
  std::vector<int> codes;
  int hidden = 12, embedding = 12;
  int32_t input = SIDBEAM_DRAFT_INPUT_BOTH, transition = SIDBEAM_DRAFT_TRANSITION_RNN;
  bool biases = true;
};

inline oracle::DraftModel random_head(const HeadShape& shape, std::mt19937_64& random) {
  oracle::DraftModel model;
  model.codes = shape.codes;
  model.hidden = shape.hidden;
  model.embedding = shape.embedding;
  model.input = static_cast<oracle::DraftInput>(shape.input);
  model.transition = static_cast<oracle::DraftTransition>(shape.transition);
  const int64_t gates = shape.hidden * (shape.transition == SIDBEAM_DRAFT_TRANSITION_GRU ? 3 : 1);
  for (const int codes : shape.codes) {
    oracle::DraftLayer layer;
    layer.head = random_vector(random, int64_t{codes} * shape.hidden * (shape.input == 0 ? 2 : 1));
    layer.embedding = random_vector(random, int64_t{codes} * shape.embedding);
    layer.input = random_vector(random, gates * shape.embedding);
    layer.recurrent = random_vector(random, gates * shape.hidden);
    if (shape.biases) {
      layer.head_bias = random_vector(random, codes);
      layer.input_bias = random_vector(random, gates);
      layer.recurrent_bias = random_vector(random, gates);
    }
    model.layers.push_back(layer);
  }
  return model;
}

// The struct that the writer takes, with what it points to.
class DraftFile {
 public:
  DraftFile(const oracle::DraftModel& model, int32_t dtype, std::string codebook = "")
      : codes_(model.codes), codebook_(std::move(codebook)) {
    for (const oracle::DraftLayer& layer : model.layers) {
      const oracle::Vector* const arrays[7] = {&layer.head,       &layer.head_bias, &layer.embedding,     &layer.input,
                                               &layer.input_bias, &layer.recurrent, &layer.recurrent_bias};
      for (int kind = 0; kind < 7; ++kind) bytes_[kind].push_back(elements_of(*arrays[kind], dtype));
    }
    for (int kind = 0; kind < 7; ++kind)
      for (const std::string& bytes : bytes_[kind]) lists_[kind].push_back(bytes.empty() ? nullptr : bytes.data());
    weights.levels = model.levels();
    weights.hidden = model.hidden;
    weights.embedding = model.embedding;
    weights.input = static_cast<int32_t>(model.input);
    weights.transition = static_cast<int32_t>(model.transition);
    weights.dtype = dtype;
    weights.codes = codes_.data();
    weights.head_weights = lists_[0].data();
    weights.head_biases = lists_[1].data();
    weights.embeddings = lists_[2].data();
    weights.input_weights = lists_[3].data();
    weights.input_biases = lists_[4].data();
    weights.recurrent_weights = lists_[5].data();
    weights.recurrent_biases = lists_[6].data();
    weights.codebook = codebook_.c_str();
  }
  DraftFile(const DraftFile&) = delete;
  DraftFile& operator=(const DraftFile&) = delete;

  // The head that such a file gives; ends the program where something fails.
  DraftHead head() const {
    const TemporaryFile file;
    handles::check([&](sidbeam_error* err) { return sidbeam_draft_head_write(file.path(), &weights, err); });
    return handles::made<DraftHead>(
        [&](auto** out, sidbeam_error* err) { return sidbeam_draft_head_open(file.path(), nullptr, out, err); });
  }

  sidbeam_draft_weights weights = SIDBEAM_DRAFT_WEIGHTS_INIT;

 private:
  std::vector<int32_t> codes_;
  std::string codebook_;
  std::vector<std::string> bytes_[7];
  std::vector<const void*> lists_[7];
};

inline std::set<std::vector<int>> random_sids(const std::vector<int>& codes, size_t count, std::mt19937_64& random) {
  std::set<std::vector<int>> sids;
  for (size_t tries = 0; sids.size() < count && tries < 20 * count; ++tries) {
    std::vector<int> sid;
    for (const int v : codes) sid.push_back(static_cast<int>(random() % static_cast<uint64_t>(v)));
    sids.insert(sid);
  }
  return sids;
}

// 16 levels of 16 codes, so that the product of the V_l is 2^64 and keys are hashes. At the first 13 one code alone is
// ever chosen, so that one beam goes on to levels that a search can exhaust.
inline constexpr int kDeep = 16, kCertain = 13;

inline oracle::DraftModel deep_head(std::mt19937_64& random) {
  oracle::DraftModel model = random_head({std::vector<int>(kDeep, 16), 8, 8}, random);
  for (size_t l = 0; l < kCertain; ++l) {
    oracle::Vector& bias = model.layers[l].head_bias;
    std::fill(bias.begin(), bias.end(), -std::numeric_limits<double>::infinity());
    bias[l] = 0.0;
  }
  return model;
}

inline std::set<std::vector<int>> deep_sids(size_t count, std::mt19937_64& random) {
  std::set<std::vector<int>> sids;
  for (const std::vector<int>& end : random_sids({16, 16, 16}, count, random)) {
    std::vector<int> sid(kCertain);
    std::iota(sid.begin(), sid.end(), 0);
    sid.insert(sid.end(), end.begin(), end.end());
    sids.insert(sid);
  }
  return sids;
}

inline handles::Index make_index(sidbeam_runtime* runtime, const std::vector<int>& codes,
                                 const std::set<std::vector<int>>& sids,
                                 int32_t kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_HASH, const char* codebook = "") {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = static_cast<int32_t>(codes.size());
  config.codes = codes.data();
  config.kinds = kinds;
  config.codebook = codebook;
  std::vector<int32_t> flat;
  for (const std::vector<int>& sid : sids) flat.insert(flat.end(), sid.begin(), sid.end());
  const auto builder = handles::made<handles::Builder>(
      [&](auto** out, sidbeam_error* err) { return sidbeam_builder_create(runtime, &config, out, err); });
  handles::check([&](sidbeam_error* err) {
    return sidbeam_builder_add(builder.get(), flat.data(), nullptr, static_cast<int64_t>(sids.size()), nullptr, nullptr,
                               err);
  });
  return handles::made<handles::Index>(
      [&](auto** out, sidbeam_error* err) { return sidbeam_builder_finish(builder.get(), out, err); });
}

}  // namespace heads
