# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_runner_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/attention.cc
  ${CMAKE_CURRENT_LIST_DIR}/device.cc
  ${CMAKE_CURRENT_LIST_DIR}/kernels.cc
  ${CMAKE_CURRENT_LIST_DIR}/permute.cc
  ${CMAKE_CURRENT_LIST_DIR}/shared_kv.cc
)
