// A random caller of the runner's library: its handles, on top of the state that a caller of the library has.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/attention.h>
#include <sidbeam/runner.h>

#include <atomic>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "../abi/world.h"

namespace fuzz::abi {

#define STRUCT(type, bytes) \
  template <>               \
  inline constexpr size_t kFirstBytes<type> = bytes;
#define FIELD(...)
#define CONSTANT(...)
#define ENTRY(...)
#include "../../abi/runner_v1.inc"
#undef STRUCT
#undef FIELD
#undef CONSTANT
#undef ENTRY

constexpr int32_t kTokens = 12, kHidden = 8;  // of every model here
constexpr int32_t kLevels = 3, kCodes = 4;    // of the catalogue
constexpr int64_t kSids = 6;
sidbeam_index* catalogue_index();
sidbeam_constraint* catalogue_constraint();
// A model's folder, or a path for a draft head's file.
const std::string& model_folder(int32_t which);
constexpr int32_t kModelFolders = 3;
const std::string& head_path();

struct Runner {
  sidbeam_runner* handle = nullptr;
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  bool closed = false;

  // What done() was told of a request that was taken.
  struct Request {
    const Runner* runner = nullptr;
    std::atomic<int32_t> told = 0;
  };
  std::list<Request> requests;
  bool draws() const;
};

struct Hidden {
  std::vector<float> weights;
  sidbeam_session* session = nullptr;
  sidbeam_output_layer* layer = nullptr;
  sidbeam_hidden* handle = nullptr;
};

struct Decoder {
  sidbeam_draft_decoder* handle;
  int32_t requests, beams, verification;
};

struct Caller {
  World world;
  std::vector<sidbeam_model*> models;
  std::vector<sidbeam_draft_head*> heads;
  std::vector<std::unique_ptr<Runner>> runners;
  std::vector<std::unique_ptr<Hidden>> hidden;
  std::vector<Decoder> decoders;

  Caller(const uint8_t* data, size_t size) : world(data, size) {}
  Caller(const Caller&) = delete;
  // Lets go of everything, in an order drawn from the input.
  ~Caller();
  // Of one handle; false where there is none.
  bool drop_any();
};

using RunnerOperation = void (*)(Caller& caller);
std::span<const RunnerOperation> model_operations();
std::span<const RunnerOperation> request_operations();
std::span<const RunnerOperation> draft_operations();
std::span<const RunnerOperation> kernel_operations();

}  // namespace fuzz::abi
