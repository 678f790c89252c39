// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace bench {
namespace {

sidbeam_builder_config config_of(const std::vector<int32_t>& codes, bool ends, int32_t kinds) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = static_cast<int32_t>(codes.size());
  config.codes = codes.data();
  config.variable_length = ends ? 1 : 0;
  config.kinds = kinds;
  return config;
}

}  // namespace

Runtime make_runtime(int32_t step_threads) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.step_threads = step_threads;
  config.cpu_target = std::getenv("BENCH_TARGET");
  sidbeam_runtime* runtime;
  call("runtime_create", sidbeam_runtime_create, &config, &runtime);
  return Runtime(runtime);
}

Builder fill_builder(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds) {
  const std::vector<int32_t> codes(static_cast<size_t>(catalogue.levels), catalogue.codes - (catalogue.ends ? 1 : 0));
  const sidbeam_builder_config config = config_of(codes, catalogue.ends, kinds);
  sidbeam_builder* raw_builder;
  call("builder_create", sidbeam_builder_create, runtime, &config, &raw_builder);
  Builder builder(raw_builder);
  constexpr int64_t kPart = 1 << 20;  // the builder packs what it is given: no second copy of the catalogue at a time
  std::vector<int32_t> lengths;
  for (int64_t i = 0; i < catalogue.sids; i += kPart) {
    const int64_t count = std::min(kPart, catalogue.sids - i);
    lengths.clear();
    for (int64_t k = i; catalogue.ends && k < i + count; ++k) lengths.push_back(catalogue.length(k));
    call("builder_add", sidbeam_builder_add, raw_builder, catalogue.sid(i), catalogue.ends ? lengths.data() : nullptr,
         count, nullptr, nullptr);
  }
  return builder;
}

Index build_index(sidbeam_runtime* runtime, const Catalogue& catalogue, int32_t kinds) {
  return make<Index>("builder_finish", sidbeam_builder_finish, fill_builder(runtime, catalogue, kinds).get());
}

sidbeam_item_list list_of(const std::vector<int64_t>& numbers, int32_t by) {
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.by = by;
  list.numbers = numbers.data();
  list.count = static_cast<int64_t>(numbers.size());
  return list;
}

Filter filter_of(sidbeam_index* index, const std::vector<int64_t>& rows) {
  const sidbeam_item_list list = list_of(rows);
  return make<Filter>("filter_from_items", sidbeam_filter_from_items, index, &list, nullptr);
}

Constraint constrain(sidbeam_index* index, sidbeam_filter* filter, const sidbeam_item_list* excluded,
                     const sidbeam_item_list* allowed) {
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index;
  config.filter = filter;
  config.excluded = excluded;
  config.allowed = allowed;
  return make<Constraint>("constraint_create", sidbeam_constraint_create, &config);
}

}  // namespace bench
