target_sources(sidbeam_core PRIVATE
  backend/cpu/chain.cc
  backend/cpu/cpu_backend.cc
  backend/cpu/cpu_set.cc
  backend/cpu/kernels.cc
  backend/cpu/row_scan.cc
  backend/cpu/selection.cc
  backend/cpu/stepper.cc
  backend/cpu/sum_ahead.cc
  backend/cpu/write_beams.cc
  backend/device.cc
  backend/device_set.cc
  backend/plugin.cc
)
