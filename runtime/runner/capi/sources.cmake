# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_runner_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/api.cc
  ${CMAKE_CURRENT_LIST_DIR}/attention.cc
  ${CMAKE_CURRENT_LIST_DIR}/head.cc
  ${CMAKE_CURRENT_LIST_DIR}/hidden.cc
  ${CMAKE_CURRENT_LIST_DIR}/model.cc
  ${CMAKE_CURRENT_LIST_DIR}/request.cc
  ${CMAKE_CURRENT_LIST_DIR}/runner.cc
  ${CMAKE_CURRENT_LIST_DIR}/service.cc
  ${CMAKE_CURRENT_LIST_DIR}/speculation.cc
)
