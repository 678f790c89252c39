// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <algorithm>
#include <vector>

namespace bench {
namespace {

sidbeam_builder_config config_of(const std::vector<int32_t>& codes, int32_t kinds) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = static_cast<int32_t>(codes.size());
  config.codes = codes.data();
  config.kinds = kinds;
  return config;
}

}  // namespace

Runtime make_runtime(int32_t step_threads) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.step_threads = step_threads;
  sidbeam_runtime* runtime;
  call("runtime_create", sidbeam_runtime_create, &config, &runtime);
  return Runtime(runtime);
}

Constraint build_constraint(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds) {
  const std::vector<int32_t> codes(static_cast<size_t>(catalogue.levels), catalogue.codes);
  const sidbeam_builder_config config = config_of(codes, kinds);
  sidbeam_builder* raw_builder;
  call("builder_create", sidbeam_builder_create, runtime, &config, &raw_builder);
  const Builder builder(raw_builder);
  constexpr int64_t kPart = 1 << 20;  // the builder packs what it is given: no second copy of the catalogue at a time
  for (int64_t i = 0; i < catalogue.sids; i += kPart)
    call("builder_add", sidbeam_builder_add, raw_builder, catalogue.sid(i), nullptr,
         std::min(kPart, catalogue.sids - i), nullptr, nullptr);
  sidbeam_index* raw_index;
  call("builder_finish", sidbeam_builder_finish, raw_builder, &raw_index);
  const Index index(raw_index);
  return constrain(raw_index);
}

Constraint constrain(sidbeam_index* index) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index;
  sidbeam_constraint* constraint;
  call("constraint_create", sidbeam_constraint_create, &config, &constraint);
  return Constraint(constraint);
}

}  // namespace bench
