// Runtimes, and what is asked of the library itself.
// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "operations.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostRuntimes = 3;

// The worst host: the last task first, all on the caller's thread.
void execute_backwards(void* context, int32_t count, void (*task)(void* data, int32_t i), void* data) {
  FUZZ_CHECK(context == reinterpret_cast<void*>(execute_backwards));
  while (count > 0) task(data, --count);
}

// The context says which levels are asked for.
void check_log(void* context, int32_t level, const char* message) {
  FUZZ_CHECK(level >= SIDBEAM_LOG_ERROR && level <= static_cast<int32_t>(reinterpret_cast<intptr_t>(context)));
  FUZZ_CHECK(is_line(message));
}

void* no_device_memory(void* /*context*/, int32_t /*device_id*/, int64_t /*bytes*/, void* /*stream*/) {
  FUZZ_CHECK(false);
  return nullptr;
}

void no_device_memory_back(void* /*context*/, int32_t, void*, int64_t, void* /*stream*/) { FUZZ_CHECK(false); }

sidbeam_runtime_config draw_config(World& world) {
  static constexpr const char* kTargets[] = {nullptr, "baseline", "avx2"};
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = world.one_in(8) ? 2 : 1;
  config.log_level = world.in(0, 2);
  config.log_context = reinterpret_cast<void*>(intptr_t{config.log_level});
  if (!world.one_in(8)) config.log = check_log;
  config.cpu_target = kTargets[world.one_in(3) ? world.in(1, 2) : 0];
  // Not every machine has it.
  if (config.cpu_target == kTargets[2]) world.expected.may_fail(SIDBEAM_UNSUPPORTED);
  config.step_threads = world.one_in(4) ? world.in(2, 4) : 0;
  config.step_grain = world.flip() ? 1 : 0;
  if (!world.one_in(8)) {  // threads of the library's own are slow to make
    config.execute = execute_backwards;
    config.execute_context = reinterpret_cast<void*>(execute_backwards);
  }
  config.cuda_library = "/nowhere/libsidbeam_cuda.so.1";
  return config;
}

void spoil(World& world, int32_t fault, sidbeam_runtime_config& config, sidbeam_allocator& allocator,
           sidbeam_device_allocator& device_allocator) {
  Answers& expected = world.expected;
  if (fault != 0) expected.fails(fault == 2 ? SIDBEAM_UNSUPPORTED : SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) config.threads = world.flip() ? -1 : 1025;
  if (fault == 2) config.cpu_target = "avx1024";
  if (fault == 3) config.log_level = world.flip() ? -1 : 3;
  if (fault == 4) config.step_threads = world.flip() ? -1 : 1025;
  if (fault == 5) config.step_grain = -1;
  if (fault == 6) allocator.allocate = nullptr;
  if (fault == 7) allocator.release = nullptr;
  if (fault == 8) device_allocator.allocate = nullptr;
}

void create(World& world) {
  if (world.runtimes.size() >= kMostRuntimes) return;
  sidbeam_runtime_config config = draw_config(world);
  sidbeam_allocator table = world.allocator.table();
  sidbeam_device_allocator device = SIDBEAM_DEVICE_ALLOCATOR_INIT;
  device.allocate = no_device_memory;
  device.release = no_device_memory_back;
  const int32_t fault = world.fault(9);
  spoil(world, fault, config, table, device);
  const In<sidbeam_allocator> allocator(world, table);
  const In<sidbeam_device_allocator> device_allocator(world, device);
  config.allocator = allocator.get();
  config.device_allocator = device_allocator.get();
  const In<sidbeam_runtime_config> argument(world, config);
  Out<sidbeam_runtime*> out(world, 1);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(runtime_create)(argument.get(), fault == 9 ? nullptr : out.get(), err); });
  if (status == SIDBEAM_OK) world.runtimes.push_back(*out);
}

void release(World& world) {
  if (world.one_in(4)) ABI(runtime_release)(nullptr);
  if (world.runtimes.empty()) return;
  sidbeam_runtime*& released = world.any(world.runtimes);
  ABI(runtime_release)(released);
  std::swap(released, world.runtimes.back());
  world.runtimes.pop_back();
}

void refuse_memory(World& world) {
  static constexpr uint32_t kRates[] = {0, 0, 0, 2, 5, 20};
  const uint32_t rate = kRates[world.in(0, 5)];
  world.allocator.refuse(rate, static_cast<uint32_t>(world.in(0, 255)));
}

void ask_library(World& world) {
  FUZZ_CHECK(std::strlen(ABI(version)()) > 0 && ABI(abi_version)() == SIDBEAM_ABI_VERSION);
  FUZZ_CHECK(ABI(status_name)(world.in(-2, 20)) != nullptr && ABI(cpu_target)() != nullptr);
  const bool right = world.flip();
  const int32_t fault = world.fault(1);
  world.expected.fails_if(!right, SIDBEAM_UNSUPPORTED);
  world.expected.fails_if(fault == 1, SIDBEAM_INVALID_ARGUMENT);
  Out<const sidbeam_api*> api(world, 1);
  world.attempt([&](sidbeam_error* err) {
    return ABI(get_api)(right ? SIDBEAM_ABI_VERSION : 99, fault == 1 ? nullptr : api.get(), err);
  });
}

}  // namespace

// Twice at most: the first attempt may have been a wrong one.
void make_runtime(World& world) {
  if (world.runtimes.empty()) create(world);
  if (world.runtimes.empty()) create(world);
}

std::span<const Operation> runtime_operations() {
  static constexpr Operation kAll[] = {create, release, refuse_memory, ask_library};
  return kAll;
}

}  // namespace fuzz::abi
