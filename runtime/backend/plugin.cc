// SPDX-License-Identifier: Apache-2.0
#include "backend/plugin.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>

#include "backend/build_id.h"
#include "support/error.h"

namespace sidbeam {
namespace {

constexpr char kName[] = "libsidbeam_cuda.so.1";

// The folder of this library, with a slash at its end; "" where it cannot be told.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&load_cuda_plugin), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

// RTLD_NODELETE, because CUDA does not support unloading and objects of the caller may outlive the runtime.
void* open_library(const std::string& path) { return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE); }

struct Library {
  void* handle = nullptr;
  std::string path;
};

// A library that was named, by `whom`, and so must be there.
Library open_named(const std::string& path, const char* whom) {
  void* handle = open_library(path);
  if (handle == nullptr) fail(SIDBEAM_NO_DEVICE, "the CUDA plugin that %s names does not load: %s", whom, dlerror());
  return {handle, path};
}

Library open_plugin(const std::string& path) {
  if (!path.empty()) return open_named(path, "runtime_config.cuda_library");
  const char* named = secure_getenv("SIDBEAM_CUDA_LIBRARY");
  if (named != nullptr && *named != '\0') return open_named(named, "SIDBEAM_CUDA_LIBRARY");
  const std::string beside = own_folder() + kName;
  void* handle = open_library(beside);
  if (handle != nullptr) return {handle, beside};
  const std::string why = dlerror();
  handle = open_library(kName);
  if (handle == nullptr)
    fail(SIDBEAM_NO_DEVICE, "the CUDA plugin %s is missing: %s; %s", kName, why.c_str(), dlerror());
  return {handle, kName};
}

}  // namespace

const DevicePlugin& load_cuda_plugin(const std::string& path) {
  const Library library = open_plugin(path);
  const auto function = reinterpret_cast<DevicePluginFunction>(dlsym(library.handle, kCudaPluginSymbol));
  if (function == nullptr)
    fail(SIDBEAM_NO_DEVICE, "'%s' is no CUDA plugin of sidbeam: it lacks %s", library.path.c_str(), kCudaPluginSymbol);
  const DevicePlugin* plugin = function();
  if (plugin->version != kDevicePluginVersion)
    fail(SIDBEAM_NO_DEVICE, "the CUDA plugin '%s' has version %u of its interface, expected %u", library.path.c_str(),
         plugin->version, kDevicePluginVersion);
  if (std::strcmp(plugin->build_id, kBuildId) != 0)
    fail(SIDBEAM_NO_DEVICE, "the CUDA plugin '%s' is of build %s, expected %s, that of libsidbeam.so.1",
         library.path.c_str(), plugin->build_id, kBuildId);
  return *plugin;
}

}  // namespace sidbeam
