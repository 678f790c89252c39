target_sources(sidbeam_core PRIVATE
  decode/items.cc
  decode/rows.cc
  decode/session.cc
  decode/start.cc
  decode/states.cc
  decode/step.cc
  decode/vocabulary.cc
)
