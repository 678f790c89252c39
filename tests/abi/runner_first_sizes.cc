// The sizes that the runner's library takes from its oldest callers, checked by compiling this against headers in which
// each struct has grown by a field: they must not grow along. SPDX-License-Identifier: Apache-2.0
#include "runner/capi/first_version.h"

#define STRUCT(type, bytes)                                      \
  static_assert(sizeof(type) > (bytes), #type " has not grown"); \
  static_assert(sidbeam::kFirstBytes<type> == (bytes), #type " has another size in first_version.h");
#define FIELD(type, field, at, bytes)
#define CONSTANT(name, value)
#define ENTRY(place, name)
#include "runner_v1.inc"
