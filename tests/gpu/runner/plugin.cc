// Finding the runner's plugin for CUDA: plugin PLUGIN OTHER_LIBRARY SLOW_LIBRARY. SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "runner/attention/device.h"
#include "runner/cuda/load.h"
#include "support/error.h"

namespace {

using sidbeam::Failure;

int failures = 0;

// The plugin at `path` must be refused as NO_DEVICE with these words.
void refused(const char* path, const char* words) {
  setenv("SIDBEAM_RUNNER_CUDA_LIBRARY", path, 1);
  try {
    sidbeam::runner::attention_device(0);
    std::printf("'%s' was taken\n", path);
  } catch (const Failure& failure) {
    if (failure.status == SIDBEAM_NO_DEVICE && std::strstr(failure.message, words) != nullptr) return;
    std::printf("'%s' was refused as: %s (%d), expected '%s'\n", path, failure.message, failure.status, words);
  }
  ++failures;
}

// A child that is forked while another thread loads a plugin does not wait for that thread, which it does not have.
void a_child_waits_for_no_loader(const char* slow) {
  constexpr const char* kWords = "is no CUDA plugin of sidbeam's runner";
  constexpr unsigned kSeconds = 60;
  int begun[2], go_on[2], status = -1;
  char byte = 0;
  if (pipe(begun) != 0 || pipe(go_on) != 0) std::abort();
  setenv("SLOW_BEGUN", std::to_string(begun[1]).c_str(), 1);
  setenv("SLOW_GO_ON", std::to_string(go_on[0]).c_str(), 1);
  std::thread loader(refused, slow, kWords);
  if (read(begun[0], &byte, 1) != 1) std::abort();
  const pid_t child = fork();
  if (child == 0) {
    alarm(kSeconds);
    failures = 0;
    refused(slow, kWords);
    std::fflush(stdout);
    _exit(failures);
  }
  const bool ended = waitpid(child, &status, 0) == child;
  if (write(go_on[1], &byte, 1) != 1) std::abort();
  loader.join();
  if (!ended || status != 0) ++failures, std::printf("the child's status is %d\n", status);
}

}  // namespace

int main(int, char** argv) {
  refused("/nowhere/plugin.so", "that SIDBEAM_RUNNER_CUDA_LIBRARY names does not load");
  refused("", "libsidbeam_runner_cuda.so.1 is missing");
  refused(argv[2], "is no CUDA plugin of sidbeam's runner: it lacks sidbeam_runner_cuda_plugin");
  a_child_waits_for_no_loader(argv[3]);
  setenv("SIDBEAM_RUNNER_CUDA_LIBRARY", argv[1], 1);
  setenv("SIDBEAM_EMULATED_DEVICES", "1", 1);
  sidbeam_attention_args args = SIDBEAM_ATTENTION_ARGS_INIT;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  int64_t bytes = 0;
  args.device_type = SIDBEAM_DEVICE_CUDA;
  args.heads = args.kv_heads = args.head_dim = 1;
  args.device_id = 7;
  try {
    const sidbeam::runner::AttentionDevice& device = sidbeam::runner::attention_device(0);
    if (device.workspace(&args, &bytes, &err) != SIDBEAM_NO_DEVICE ||
        std::strstr(err.message, "device_id is 7") == nullptr)
      ++failures, std::printf("device 7: %s\n", err.message);
    args.device_id = 0;
    if (device.workspace(&args, &bytes, &err) != SIDBEAM_OK) ++failures, std::printf("device 0: %s\n", err.message);
  } catch (const Failure& failure) {
    ++failures, std::printf("the plugin: %s\n", failure.message);
  }
  return failures == 0 ? 0 : 1;
}
