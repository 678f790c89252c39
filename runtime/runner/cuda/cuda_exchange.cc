// SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/cuda_exchange.h"

#include <cstring>

#include "support/error.h"
#include "support/memory.h"

namespace sidbeam::runner {

Exchanged<void> CudaExchange::take_bytes(int64_t count, int64_t size) {
  const int64_t bytes = checked_bytes(count, size);
  const Exchanged<void> made{arrays_.pinned(bytes), arrays_.zeros(bytes)};
  std::memset(made.here, 0, static_cast<size_t>(bytes));
  return made;
}

void CudaExchange::send_bytes(void* there, const void* here, int64_t bytes) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.to_device(forward_, there, here, bytes, &err), err);
}

void CudaExchange::fetch_bytes(void* here, const void* there, int64_t bytes) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.to_host(forward_, here, there, bytes, &err), err);
}

void CudaExchange::wait() {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  check_status(device_.wait(forward_, &err), err);
}

}  // namespace sidbeam::runner
