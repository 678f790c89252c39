# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_core PRIVATE
  decode/constraint_set.cc
  decode/counters.cc
  decode/disc.cc
  decode/items.cc
  decode/prefixes.cc
  decode/relaxed.cc
  decode/rows.cc
  decode/rules.cc
  decode/session.cc
  decode/speculate.cc
  decode/speculation_arrays.cc
  decode/speculation_tree.cc
  decode/speculation_verify.cc
  decode/start.cc
  decode/step.cc
  decode/version.cc
  decode/vocabulary.cc
)
