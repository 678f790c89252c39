target_sources(sidbeam_core PRIVATE
  capi/api.cc
  capi/builder.cc
  capi/guard.cc
  capi/index.cc
  capi/log.cc
  capi/lookup.cc
  capi/runtime.cc
  capi/session.cc
  capi/states.cc
  capi/table.cc
  capi/upload.cc
)
