# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_runner_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/cpu_forward.cc
  ${CMAKE_CURRENT_LIST_DIR}/cpu_logits.cc
  ${CMAKE_CURRENT_LIST_DIR}/cpu_model.cc
  ${CMAKE_CURRENT_LIST_DIR}/cpu_output.cc
  ${CMAKE_CURRENT_LIST_DIR}/host_exchange.cc
  ${CMAKE_CURRENT_LIST_DIR}/kv_cache.cc
  ${CMAKE_CURRENT_LIST_DIR}/layers.cc
  ${CMAKE_CURRENT_LIST_DIR}/output.cc
  ${CMAKE_CURRENT_LIST_DIR}/relative_bias.cc
  ${CMAKE_CURRENT_LIST_DIR}/rope.cc
  ${CMAKE_CURRENT_LIST_DIR}/tensors.cc
  ${CMAKE_CURRENT_LIST_DIR}/weights.cc
)
