target_sources(sidbeam_core PRIVATE
  decode/constraint_set.cc
  decode/counters.cc
  decode/items.cc
  decode/rows.cc
  decode/session.cc
  decode/start.cc
  decode/step.cc
  decode/strides.cc
  decode/vocabulary.cc
)
