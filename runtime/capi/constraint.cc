// What sessions and stateless calls follow.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/constraint.h"

#include <algorithm>
#include <memory>

#include "capi/guard.h"
#include "decode/rules.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

void check_rules(const sidbeam_constraint_config& config) {
  if (config.filter == nullptr && config.excluded == nullptr && config.allowed == nullptr) return;
  require_trie(*config.index);
  if (config.filter != nullptr && config.filter->index.get() != config.index)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.filter is of another index, expected one of config.index");
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_constraint_create(const sidbeam_constraint_config* config, sidbeam_constraint** out,
                                         sidbeam_error* err) {
  return guarded(err, [&] {
    const sidbeam_constraint_config copy = read_struct(config, "config");
    require(copy.index, "config.index");
    require(out, "out");
    check_rules(copy);
    auto constraint = std::make_unique<sidbeam_constraint>();
    constraint->index = Ref<sidbeam_index>::share(copy.index);
    constraint->filter = Ref<sidbeam_filter>::share(copy.filter);
    if (copy.filter != nullptr) copy.filter->prepare();
    NamedItems excluded{SIDBEAM_ITEM_LIST_INIT, "config.excluded"}, allowed{SIDBEAM_ITEM_LIST_INIT, "config.allowed"};
    if (copy.excluded != nullptr) excluded.list = read_struct(copy.excluded, excluded.name);
    if (copy.allowed != nullptr) allowed.list = read_struct(copy.allowed, allowed.name);
    if (copy.excluded != nullptr || copy.allowed != nullptr)
      set_lists(*constraint, copy.excluded != nullptr ? &excluded : nullptr,
                copy.allowed != nullptr ? &allowed : nullptr);
    *out = constraint.release();
  });
}

sidbeam_status sidbeam_constraint_exclude(sidbeam_constraint* constraint, const sidbeam_item_list* excluded,
                                          sidbeam_constraint** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(constraint, "constraint");
    require(out, "out");
    const NamedItems named{read_struct(excluded, "excluded"), "excluded"};
    require_trie(*constraint->index);
    *out = exclude_more(*constraint, named).release();
  });
}

void sidbeam_constraint_retain(sidbeam_constraint* constraint) {
  if (constraint != nullptr) constraint->retain();
}

void sidbeam_constraint_release(sidbeam_constraint* constraint) {
  if (constraint != nullptr) constraint->release();
}

sidbeam_status sidbeam_constraint_get_info(const sidbeam_constraint* constraint, sidbeam_constraint_info* out,
                                           sidbeam_error* err) {
  return guarded(err, [&] {
    require(constraint, "constraint");
    check_output(out, "out");
    const IndexHeaderInfo& header = constraint->index->index.header;
    const sidbeam_index_info& index = header.info;
    sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
    info.levels = index.levels;
    info.variable_length = index.variable_length;
    info.kinds = index.kinds;
    info.sids = index.sids;
    info.items = index.items;
    info.codes = header.codes.data();
    std::copy(std::begin(index.fingerprint), std::end(index.fingerprint), info.fingerprint);
    info.codebook = sidbeam_index_codebook(constraint->index.get());
    info.rules = constraint->rules() != nullptr ? 1 : 0;
    info.allowed_sids = allowed_sids(*constraint);
    info.allowed_items = allowed_items(*constraint);
    info.unknown_excluded = constraint->unknown_excluded;
    info.unknown_allowed = constraint->unknown_allowed;
    write_struct(info, out);
  });
}

}  // extern "C"
