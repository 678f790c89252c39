// SPDX-License-Identifier: Apache-2.0
#include "support/cuda/current.h"

#include "support/cuda/check.h"
#include "support/error.h"

namespace sidbeam::cuda {
namespace {

// Functions of the driver, which the runtime finds, so that the plugin loads where there is no driver.
struct Driver {
  CUresult (*get_device)(CUdevice*, int) = nullptr;
  CUresult (*retain_primary)(CUcontext*, CUdevice) = nullptr;
  CUresult (*get_current)(CUcontext*) = nullptr;
  CUresult (*set_current)(CUcontext) = nullptr;
};

template <class Function>
void find(const char* name, Function& out) {
  constexpr unsigned kVersion = 12000;  // whose signatures these are
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion(name, &address, kVersion, cudaEnableDefault, &found), "look at the driver");
#else
  check(cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &found), "look at the driver");
#endif
  if (address == nullptr)
    fail(SIDBEAM_NO_DEVICE, "the NVIDIA driver has no %s, expected one for CUDA %u or later", name, kVersion / 1000);
  out = reinterpret_cast<Function>(address);
}

Driver find_driver() {
  Driver driver;
  find("cuDeviceGet", driver.get_device);
  find("cuDevicePrimaryCtxRetain", driver.retain_primary);
  find("cuCtxGetCurrent", driver.get_current);
  find("cuCtxSetCurrent", driver.set_current);
  return driver;
}

const Driver& driver() {
  static const Driver only = find_driver();
  return only;
}

// The runtime's errors have the numbers of the driver's.
void check_driver(CUresult result, const char* what) { check(static_cast<cudaError_t>(result), what); }

}  // namespace

CUcontext primary_context(int32_t device_id) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  check_driver(driver().get_device(&device, device_id), "look at the device");
  check_driver(driver().retain_primary(&context, device), "make a context");
  return context;
}

CurrentContext::CurrentContext(CUcontext context) {
  check_driver(driver().get_current(&before_), "ask for the current context");
  if (before_ == context) return;
  check_driver(driver().set_current(context), "make the device current");
  replaced_ = true;
}

CurrentContext::~CurrentContext() {
  if (replaced_) driver().set_current(before_);
}

}  // namespace sidbeam::cuda
