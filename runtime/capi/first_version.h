// The size that each struct of the ABI had in its first version, which the oldest callers have. A struct that grows
// keeps its line; tests/abi has the same numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/sidbeam.h"
#include "support/structs.h"

namespace sidbeam {

template <>
inline constexpr size_t kFirstBytes<sidbeam_device_allocator> = 32;
template <>
inline constexpr size_t kFirstBytes<sidbeam_runtime_config> = 96;
template <>
inline constexpr size_t kFirstBytes<sidbeam_open_config> = 12;
template <>
inline constexpr size_t kFirstBytes<sidbeam_index_info> = 168;
template <>
inline constexpr size_t kFirstBytes<sidbeam_section_info> = 48;
template <>
inline constexpr size_t kFirstBytes<sidbeam_upload_config> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_upload_info> = 16;
template <>
inline constexpr size_t kFirstBytes<sidbeam_builder_config> = 88;
template <>
inline constexpr size_t kFirstBytes<sidbeam_arrow_config> = 48;
template <>
inline constexpr size_t kFirstBytes<sidbeam_arrow_info> = 32;
template <>
inline constexpr size_t kFirstBytes<sidbeam_plan_info> = 64;
template <>
inline constexpr size_t kFirstBytes<sidbeam_item_list> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_filter_info> = 32;
template <>
inline constexpr size_t kFirstBytes<sidbeam_row_set> = 32;
template <>
inline constexpr size_t kFirstBytes<sidbeam_term> = 56;
template <>
inline constexpr size_t kFirstBytes<sidbeam_constraint_config> = 16;
template <>
inline constexpr size_t kFirstBytes<sidbeam_constraint_info> = 88;
template <>
inline constexpr size_t kFirstBytes<sidbeam_item_limits> = 48;
template <>
inline constexpr size_t kFirstBytes<sidbeam_rows> = 64;
template <>
inline constexpr size_t kFirstBytes<sidbeam_vocabulary> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_session_config> = 56;
template <>
inline constexpr size_t kFirstBytes<sidbeam_start_args> = 88;
template <>
inline constexpr size_t kFirstBytes<sidbeam_step_args> = 80;
template <>
inline constexpr size_t kFirstBytes<sidbeam_beams> = 80;
template <>
inline constexpr size_t kFirstBytes<sidbeam_items> = 80;
template <>
inline constexpr size_t kFirstBytes<sidbeam_stats> = 56;
template <>
inline constexpr size_t kFirstBytes<sidbeam_constraint_set_config> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_sampling> = 64;
template <>
inline constexpr size_t kFirstBytes<sidbeam_sampled> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_disc_config> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_disc_draws> = 48;
template <>
inline constexpr size_t kFirstBytes<sidbeam_disc_results> = 64;
template <>
inline constexpr size_t kFirstBytes<sidbeam_speculation_config> = 24;
template <>
inline constexpr size_t kFirstBytes<sidbeam_speculation_tree> = 120;
template <>
inline constexpr size_t kFirstBytes<sidbeam_speculation_verify_args> = 24;
template <>
inline constexpr size_t kFirstBytes<sidbeam_speculation_stats> = 56;
template <>
inline constexpr size_t kFirstBytes<sidbeam_relaxed_draw_args> = 56;
template <>
inline constexpr size_t kFirstBytes<sidbeam_relaxed_verify_args> = 80;
template <>
inline constexpr size_t kFirstBytes<sidbeam_relaxed_beams> = 24;
template <>
inline constexpr size_t kFirstBytes<sidbeam_catalog_config> = 48;
template <>
inline constexpr size_t kFirstBytes<sidbeam_pairs> = 80;
template <>
inline constexpr size_t kFirstBytes<sidbeam_compact_config> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_catalog_info> = 136;
template <>
inline constexpr size_t kFirstBytes<sidbeam_version_info> = 64;
template <>
inline constexpr size_t kFirstBytes<sidbeam_attribute_info> = 72;
template <>
inline constexpr size_t kFirstBytes<sidbeam_attribute_column> = 96;

}  // namespace sidbeam
