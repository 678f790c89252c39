// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/load.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

#include "runner/build_id.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr char kName[] = "libsidbeam_runner_cuda.so.1";

// The folder of this library, with a slash at its end; "" where it cannot be told.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&load_runner_plugin), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// RTLD_NODELETE, because CUDA does not support unloading and objects of the caller may outlive the runner.
void* open_library(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

void* open_plugin(std::string& path) {
  const char* named = secure_getenv("SIDBEAM_RUNNER_CUDA_LIBRARY");
  if (named != nullptr && *named != '\0') {
    path = named;
    void* handle = open_library(path);
    if (handle == nullptr)
      fail(SIDBEAM_NO_DEVICE, "the runner's CUDA plugin that SIDBEAM_RUNNER_CUDA_LIBRARY names does not load: %s",
           dlerror());
    return handle;
  }
  path = own_folder() + kName;
  void* handle = open_library(path);
  if (handle != nullptr) return handle;
  const std::string why = dlerror();
  path = kName;
  handle = open_library(path);
  if (handle == nullptr)
    fail(SIDBEAM_NO_DEVICE, "the runner's CUDA plugin %s is missing: %s; %s", kName, why.c_str(), dlerror());
  return handle;
}

const RunnerPlugin& find_plugin() {
  std::string path;
  void* handle = open_plugin(path);
  const auto function = reinterpret_cast<RunnerPluginFunction>(dlsym(handle, kRunnerPluginSymbol));
  if (function == nullptr)
    fail(SIDBEAM_NO_DEVICE, "'%s' is no CUDA plugin of sidbeam's runner: it lacks %s", path.c_str(),
         kRunnerPluginSymbol);
  const RunnerPlugin* plugin = function();
  if (plugin->version != kRunnerPluginVersion)
    fail(SIDBEAM_NO_DEVICE, "the runner's CUDA plugin '%s' has version %u of its interface, expected %u", path.c_str(),
         plugin->version, kRunnerPluginVersion);
  if (std::strcmp(plugin->build_id, kRunnerBuildId) != 0)
    fail(SIDBEAM_NO_DEVICE, "the runner's CUDA plugin '%s' is of build %s, expected %s, that of libsidbeam_runner.so.1",
         path.c_str(), plugin->build_id, kRunnerBuildId);
  return *plugin;
}

}  // namespace

// Nothing is locked, since a child that is forked meanwhile would wait for ever. Threads that come at the same time
// find the same plugin. A failure is tried again.
const RunnerPlugin& load_runner_plugin() {
  static constinit std::atomic<const RunnerPlugin*> found{nullptr};
  const RunnerPlugin* plugin = found.load(std::memory_order_acquire);
  if (plugin == nullptr) {
    plugin = &find_plugin();
    found.store(plugin, std::memory_order_release);
  }
  return *plugin;
}

}  // namespace sidbeam::runner
