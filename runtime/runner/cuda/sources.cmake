# Paths from runtime/, also for the emulated plugin of tests/gpu.
# SPDX-License-Identifier: Apache-2.0
set(runner_cuda_host_sources
  runner/cuda/attention.cc
  runner/cuda/attention_plan.cc
  runner/cuda/device.cc
  runner/cuda/draft_api.cc
  runner/cuda/forward.cc
  runner/cuda/forward_api.cc
  runner/cuda/hidden_api.cc
  runner/cuda/memory.cc
  runner/cuda/prefill.cc
  runner/cuda/products.cc
  runner/cuda/plugin.cc
  runner/cuda/tree.cc
  support/cuda/check.cc
  support/cuda/current.cc
)
set(runner_cuda_kernel_sources
  runner/cuda/attention.cu
  runner/cuda/attention_bf16.cu
  runner/cuda/attention_f16.cu
  runner/cuda/attention_f32.cu
  runner/cuda/draft.cu
  runner/cuda/hidden.cu
  runner/cuda/rows.cu
)
