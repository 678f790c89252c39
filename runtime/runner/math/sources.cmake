# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_runner_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/element_cost.cc
  ${CMAKE_CURRENT_LIST_DIR}/elements.cc
  ${CMAKE_CURRENT_LIST_DIR}/matrix.cc
  ${CMAKE_CURRENT_LIST_DIR}/product.cc
  ${CMAKE_CURRENT_LIST_DIR}/rope.cc
  ${CMAKE_CURRENT_LIST_DIR}/rows.cc
)
