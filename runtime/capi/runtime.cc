// Library and runtime.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/runtime.h"

#include <memory>

#include "capi/guard.h"
#include "capi/log.h"
#include "decode/objects.h"
#include "support/parallel.h"

#define SIDBEAM_STRING(x) #x
#define SIDBEAM_DOTTED(major, minor, patch) SIDBEAM_STRING(major) "." SIDBEAM_STRING(minor) "." SIDBEAM_STRING(patch)

namespace sidbeam::capi {
namespace {

constexpr int64_t kDefaultGrain = 32768;

// nullptr where none is given.
const sidbeam_device_allocator* read_device_allocator(const sidbeam_device_allocator* given,
                                                      sidbeam_device_allocator& copy) {
  if (given == nullptr) return nullptr;
  copy = read_struct(given, "config.device_allocator");
  if (copy.allocate == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.device_allocator.allocate is NULL, expected a function");
  if (copy.release == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.device_allocator.release is NULL, expected a function");
  return &copy;
}

void check_threads(const char* what, int32_t given, const char* meaning_of_0) {
  if (given < 0 || given > kMaxThreads)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.%s is %d, expected 1..%d, or 0 for %s", what, given, kMaxThreads,
         meaning_of_0);
}

std::unique_ptr<Executor> executor_of(const sidbeam_runtime_config& config) {
  check_threads("step_threads", config.step_threads, "the caller's alone");
  if (config.step_threads <= 1) return nullptr;
  if (config.execute != nullptr)
    return std::make_unique<HostExecutor>(config.step_threads, config.execute, config.execute_context);
  return std::make_unique<SpinPool>(config.step_threads);
}

void create_runtime(const sidbeam_runtime_config& config, sidbeam_runtime** out) {
  auto runtime = std::make_unique<sidbeam_runtime>();
  runtime->allocator = read_allocator(config.allocator, "config.allocator");
  check_threads("threads", config.threads, "one a core");
  runtime->threads = thread_count(config.threads);
  if (config.step_grain < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.step_grain is %lld, expected a number of elements, or 0 for %lld",
         static_cast<long long>(config.step_grain), static_cast<long long>(kDefaultGrain));
  if (config.log_level < SIDBEAM_LOG_ERROR || config.log_level > SIDBEAM_LOG_INFO)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.log_level is %d, expected %d..%d", config.log_level, SIDBEAM_LOG_ERROR,
         SIDBEAM_LOG_INFO);
  sidbeam_device_allocator device_allocator;
  runtime->devices.configure(config.cuda_library, read_device_allocator(config.device_allocator, device_allocator));
  runtime->log = config.log;
  runtime->log_context = config.log_context;
  runtime->log_level = config.log_level;
  runtime->target = read_cpu_target(config.cpu_target);
  runtime->cpu =
      make_cpu_backend(runtime->target, executor_of(config), config.step_grain > 0 ? config.step_grain : kDefaultGrain);
  log(*runtime, SIDBEAM_LOG_INFO, "sidbeam %s: cpu target %s, %d threads for builds", sidbeam_version(),
      cpu_target_name(runtime->target), runtime->threads);
  *out = runtime.release();
}

}  // namespace
}  // namespace sidbeam::capi

extern "C" {

// The words before the version are for people who run strings(1) on the library.
const char* sidbeam_version(void) {
  static const char text[] =
      "sidbeam version " SIDBEAM_DOTTED(SIDBEAM_VERSION_MAJOR, SIDBEAM_VERSION_MINOR, SIDBEAM_VERSION_PATCH);
  return text + sizeof("sidbeam version ") - 1;
}

uint32_t sidbeam_abi_version(void) { return SIDBEAM_ABI_VERSION; }

const char* sidbeam_status_name(sidbeam_status code) {
  static const char* const names[] = {"ok",           "invalid argument", "out of memory",    "i/o error",
                                      "corrupt",      "unsupported",      "missing section",  "collision",
                                      "cancelled",    "bad state",        "no device",        "internal error",
                                      "device error", "queue full",       "deadline exceeded"};
  const bool known = code >= 0 && static_cast<size_t>(code) < sizeof names / sizeof names[0];
  return known ? names[code] : "unknown status";
}

const char* sidbeam_cpu_target(void) { return sidbeam::cpu_target_name(sidbeam::best_cpu_target()); }

sidbeam_status sidbeam_runtime_create(const sidbeam_runtime_config* config, sidbeam_runtime** out, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    sidbeam::capi::require(out, "out");
    const sidbeam_runtime_config defaults = SIDBEAM_RUNTIME_CONFIG_INIT;
    sidbeam::capi::create_runtime(sidbeam::capi::read_struct(config != nullptr ? config : &defaults, "config"), out);
  });
}

void sidbeam_runtime_release(sidbeam_runtime* runtime) {
  if (runtime != nullptr) runtime->release();
}

}  // extern "C"
