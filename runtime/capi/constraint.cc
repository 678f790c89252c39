// What sessions and stateless calls follow.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/constraint.h"

#include <algorithm>
#include <memory>

#include "capi/guard.h"
#include "decode/objects.h"

using namespace sidbeam;
using namespace sidbeam::capi;

extern "C" {

sidbeam_status sidbeam_constraint_create(const sidbeam_constraint_config* config, sidbeam_constraint** out,
                                         sidbeam_error* err) {
  return guarded(err, [&] {
    const sidbeam_constraint_config copy = read_struct(config, "config");
    require(copy.index, "config.index");
    require(out, "out");
    auto constraint = std::make_unique<sidbeam_constraint>();
    constraint->index = Ref<sidbeam_index>::share(copy.index);
    *out = constraint.release();
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
    write_struct(info, out);
  });
}

}  // extern "C"
