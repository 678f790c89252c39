// A random caller of the runner's library: every function, with right and wrong arguments, on handles that are made,
// shared and released in any order; requests, none of which waits: `post` runs tasks at once, so that submit() returns
// when its request is done, and cancelling comes too late. What calls answer, write and allocate is checked against the
// headers.
//
// Set SIDBEAM_FUZZ_REACH=1 to fail if some function has not succeeded once by the end of the run.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/runner_api.h>

#include <cstddef>
#include <cstdlib>

#include "abi/operations.h"
#include "equal_inputs.h"
#include "runner/caller.h"

namespace {

using namespace fuzz::abi;

constexpr int kMostCalls = 40;

void call(Caller& caller) {
  const std::span<const RunnerOperation> groups[] = {model_operations(), request_operations(), request_operations(),
                                                     draft_operations(), kernel_operations()};
  const std::span<const RunnerOperation>& group = groups[caller.world.in(0, 4)];
  group[static_cast<size_t>(caller.world.in(0, static_cast<int32_t>(group.size()) - 1))](caller);
}

// Most inputs begin with a model and a runner: nothing else gives the calls anything to do.
void prepare(Caller& caller) {
  make_runtime(caller.world);
  if (caller.world.one_in(8)) return;
  for (const RunnerOperation make : {model_operations()[0], draft_operations()[1], model_operations()[3]}) make(caller);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  fuzz::weigh_inputs_equally(argc, argv);
  const sidbeam_runner_api* api = nullptr;
  if (sidbeam_runner_get_api(SIDBEAM_RUNNER_ABI_VERSION, &api, nullptr) != SIDBEAM_OK) std::abort();
  constexpr size_t kFirst = offsetof(sidbeam_runner_api, runner_abi_version);
  require_functions(reinterpret_cast<const void* const*>(&api->runner_abi_version),
                    (api->struct_size - kFirst) / sizeof(void*));
  const char* reach = std::getenv("SIDBEAM_FUZZ_REACH");
  if (reach != nullptr && reach[0] == '1') std::atexit(require_every_success);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Caller caller(data, size);
  prepare(caller);
  for (int calls = 0; calls < kMostCalls && caller.world.input.remaining_bytes() > 0; ++calls) call(caller);
  return 0;
}
