// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <stdexcept>
#include <string>

namespace recommend {

sidbeam_error err = SIDBEAM_ERROR_INIT;

void check(sidbeam_status status) {
  if (status != SIDBEAM_OK) throw std::runtime_error(std::string(sidbeam_status_name(status)) + ": " + err.message);
}

namespace {

Runtime make_runtime() {
  sidbeam_runtime* runtime;
  check(sidbeam_runtime_create(nullptr, &runtime, &err));
  return Runtime(runtime);
}

Index build_index(sidbeam_runtime* runtime, const Dataset& data) {
  std::vector<int32_t> codes;
  std::vector<int64_t> ids;
  for (const Item& item : data.items) {
    codes.insert(codes.end(), item.sid.begin(), item.sid.end());
    ids.push_back(item.id);
  }
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = data.levels;
  config.codes = data.codes.data();
  sidbeam_builder* raw_builder;
  check(sidbeam_builder_create(runtime, &config, &raw_builder, &err));
  const Builder builder(raw_builder);
  check(sidbeam_builder_add(builder.get(), codes.data(), nullptr, static_cast<int64_t>(ids.size()), ids.data(), nullptr,
                            &err));
  sidbeam_index* index;
  check(sidbeam_builder_finish(builder.get(), &index, &err));
  return Index(index);
}

}  // namespace

Catalogue open_catalogue(const Dataset& data) {
  Catalogue catalogue;
  catalogue.runtime = make_runtime();
  catalogue.index = build_index(catalogue.runtime.get(), data);
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = catalogue.index.get();
  sidbeam_constraint* constraint;
  check(sidbeam_constraint_create(&config, &constraint, &err));
  catalogue.constraint = Constraint(constraint);
  return catalogue;
}

Constraint constraint_without(const Catalogue& catalogue, const std::vector<int32_t>& sids) {
  std::vector<int64_t> ids;
  for (const int32_t sid : sids) {
    const std::vector<int64_t> items = items_of(catalogue, sid);
    ids.insert(ids.end(), items.begin(), items.end());
  }
  sidbeam_item_list excluded = SIDBEAM_ITEM_LIST_INIT;
  excluded.numbers = ids.data();
  excluded.count = std::ssize(ids);
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = catalogue.index.get();
  config.excluded = &excluded;
  sidbeam_constraint* constraint;
  check(sidbeam_constraint_create(&config, &constraint, &err));
  return Constraint(constraint);
}

std::vector<int64_t> items_of(const Catalogue& catalogue, int64_t ordinal) {
  std::vector<int64_t> ids;
  int64_t lo, hi;
  check(sidbeam_index_item_rows(catalogue.index.get(), ordinal, &lo, &hi, &err));
  for (int64_t item_row = lo; item_row < hi; item_row++) {
    int64_t id, bytes;
    const char* name;
    check(sidbeam_index_item_id(catalogue.index.get(), item_row, &id, &name, &bytes, &err));
    ids.push_back(id);
  }
  return ids;
}

}  // namespace recommend
