# Paths from runtime/, also for the emulated plugin of tests/gpu.
# SPDX-License-Identifier: Apache-2.0
set(cuda_host_sources
  backend/cuda/device.cc
  backend/cuda/lists.cc
  backend/cuda/marks.cc
  backend/cuda/plugin.cc
  backend/cuda/session.cc
  backend/cuda/set.cc
  backend/cuda/step.cc
  backend/cuda/upload.cc
  backend/cuda/vocabulary.cc
  support/cuda/check.cc
  support/cuda/current.cc
)
set(cuda_kernel_sources
  backend/cuda/children.cu
  backend/cuda/draw.cu
  backend/cuda/items.cu
  backend/cuda/perturb.cu
  backend/cuda/sample.cu
  backend/cuda/start.cu
  backend/cuda/start_sampled.cu
  backend/cuda/states.cu
  backend/cuda/step.cu
  backend/cuda/take.cu
  backend/cuda/verify.cu
)
