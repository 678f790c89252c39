// The interface between libsidbeam_runner.so.1 and its plugin for CUDA: a table of functions, found by one symbol. Both
// are made of the same sources, which the id of the build tells.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runner/attention/device.h"
#include "runner/cuda/draft_interface.h"
#include "runner/cuda/forward_interface.h"
#include "runner/cuda/hidden_interface.h"

namespace sidbeam::runner {

inline constexpr uint32_t kRunnerPluginVersion = 1;
inline constexpr char kRunnerPluginSymbol[] = "sidbeam_runner_cuda_plugin";

struct RunnerPlugin {
  uint32_t version;
  const char* build_id;
  AttentionDevice attention;
  ForwardDevice forward;
  HiddenDevice hidden;
  DraftDevice draft;
};
using RunnerPluginFunction = const RunnerPlugin* (*)();

}  // namespace sidbeam::runner
