// SPDX-License-Identifier: Apache-2.0
#include "support/arguments.h"

namespace sidbeam::capi {

void check_size(uint32_t struct_size, size_t smallest, const char* name) {
  if (struct_size < smallest || struct_size > kMostStructBytes)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "%s.struct_size is %u, expected at least %zu and at most %u: begin with its _INIT macro", name, struct_size,
         smallest, kMostStructBytes);
}

void check_struct(const void* given, uint32_t struct_size, size_t smallest, size_t known, const char* name) {
  check_size(struct_size, smallest, name);
  const auto* bytes = static_cast<const unsigned char*>(given);
  for (size_t i = known; i < struct_size; ++i)
    if (bytes[i] != 0)
      fail(SIDBEAM_UNSUPPORTED, "%s asks for something at byte %zu that library %s does not know, expected zero", name,
           i, sidbeam_version());
}

Allocator read_allocator(const sidbeam_allocator* given, const char* name) {
  if (given == nullptr) return default_allocator();
  const sidbeam_allocator allocator = read_struct(given, name);
  if (allocator.allocate == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s.allocate is NULL, expected a function", name);
  if (allocator.release == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "%s.release is NULL, expected a function", name);
  return {allocator.context, allocator.allocate, allocator.release};
}

CpuTarget read_cpu_target(const char* name) {
  CpuTarget target = CpuTarget::kBaseline;
  if (!find_cpu_target(name, target))
    fail(SIDBEAM_UNSUPPORTED,
         "config.cpu_target is \"%s\", expected baseline, or avx2, avx512 or neon where the machine has it (here: %s)",
         name, cpu_target_name(best_cpu_target()));
  return target;
}

}  // namespace sidbeam::capi
