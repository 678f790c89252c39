target_sources(sidbeam_core PRIVATE
  decode/device_session.cc
  decode/items.cc
  decode/rows.cc
  decode/session.cc
  decode/start.cc
  decode/states.cc
  decode/step.cc
  decode/table.cc
  decode/upload.cc
  decode/vocabulary.cc
)
