# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_core PRIVATE
  capi/api.cc
  capi/attributes.cc
  capi/builder.cc
  capi/catalog.cc
  capi/constraint.cc
  capi/constraint_set.cc
  capi/disc.cc
  capi/filter.cc
  capi/index.cc
  capi/log.cc
  capi/lookup.cc
  capi/runtime.cc
  capi/session.cc
  capi/speculate.cc
  capi/upload.cc
)
