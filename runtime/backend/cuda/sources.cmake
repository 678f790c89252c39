# Paths from runtime/, also for the emulated plugin of tests/gpu.
set(cuda_host_sources
  backend/cuda/check.cc
  backend/cuda/device.cc
  backend/cuda/plugin.cc
  backend/cuda/session.cc
  backend/cuda/set.cc
  backend/cuda/step.cc
  backend/cuda/upload.cc
  backend/cuda/vocabulary.cc
)
set(cuda_kernel_sources
  backend/cuda/items.cu
  backend/cuda/start.cu
  backend/cuda/states.cu
  backend/cuda/step.cu
  backend/cuda/verify.cu
)
