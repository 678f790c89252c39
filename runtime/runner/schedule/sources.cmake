# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_runner_core PRIVATE
  ${CMAKE_CURRENT_LIST_DIR}/children.cc
  ${CMAKE_CURRENT_LIST_DIR}/choices.cc
  ${CMAKE_CURRENT_LIST_DIR}/clock.cc
  ${CMAKE_CURRENT_LIST_DIR}/dispatch.cc
  ${CMAKE_CURRENT_LIST_DIR}/drawn_sequences.cc
  ${CMAKE_CURRENT_LIST_DIR}/lane.cc
  ${CMAKE_CURRENT_LIST_DIR}/lane_session.cc
  ${CMAKE_CURRENT_LIST_DIR}/log_probs.cc
  ${CMAKE_CURRENT_LIST_DIR}/queue.cc
  ${CMAKE_CURRENT_LIST_DIR}/relaxed_draws.cc
  ${CMAKE_CURRENT_LIST_DIR}/relaxed_levels.cc
  ${CMAKE_CURRENT_LIST_DIR}/relaxed_rounds.cc
  ${CMAKE_CURRENT_LIST_DIR}/runner.cc
  ${CMAKE_CURRENT_LIST_DIR}/running_slots.cc
  ${CMAKE_CURRENT_LIST_DIR}/speculative_lane.cc
  ${CMAKE_CURRENT_LIST_DIR}/tree_rows.cc
  ${CMAKE_CURRENT_LIST_DIR}/worker.cc
)
