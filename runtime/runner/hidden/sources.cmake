# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_runner_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/dots.cc
  ${CMAKE_CURRENT_LIST_DIR}/hidden_checks.cc
  ${CMAKE_CURRENT_LIST_DIR}/hidden_step.cc
  ${CMAKE_CURRENT_LIST_DIR}/output_layer.cc
  ${CMAKE_CURRENT_LIST_DIR}/pairs.cc
)
