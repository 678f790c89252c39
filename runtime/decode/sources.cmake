target_sources(sidbeam_core PRIVATE
  decode/constraint_set.cc
  decode/counters.cc
  decode/device_session.cc
  decode/items.cc
  decode/rows.cc
  decode/session.cc
  decode/start.cc
  decode/step.cc
  decode/strides.cc
  decode/upload.cc
  decode/vocabulary.cc
)
