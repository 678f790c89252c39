// The size that each struct of the runner's ABI had in its first version, which the oldest callers have. A struct that
// grows keeps its line; tests/abi has the same numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/attention.h"
#include "sidbeam/draft.h"
#include "sidbeam/hidden.h"
#include "sidbeam/runner.h"
#include "support/structs.h"

namespace sidbeam {

// The core's, whose own list is not for other libraries.
template <>
inline constexpr size_t kFirstBytes<sidbeam_vocabulary> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_rows> = 64;

template <>
inline constexpr size_t kFirstBytes<sidbeam_model_config> = 24;
template <>
inline constexpr size_t kFirstBytes<sidbeam_model_info> = 80;
template <>
inline constexpr size_t kFirstBytes<sidbeam_runner_config> = 192;
template <>
inline constexpr size_t kFirstBytes<sidbeam_shared_kv> = 40;
template <>
inline constexpr size_t kFirstBytes<sidbeam_request> = 72;
template <>
inline constexpr size_t kFirstBytes<sidbeam_result> = 104;
template <>
inline constexpr size_t kFirstBytes<sidbeam_level> = 104;
template <>
inline constexpr size_t kFirstBytes<sidbeam_runner_stats> = 256;
template <>
inline constexpr size_t kFirstBytes<sidbeam_attention_args> = 192;
template <>
inline constexpr size_t kFirstBytes<sidbeam_attention_permute_args> = 80;

template <>
inline constexpr size_t kFirstBytes<sidbeam_draft_weights> = 104;
template <>
inline constexpr size_t kFirstBytes<sidbeam_draft_head_config> = 16;
template <>
inline constexpr size_t kFirstBytes<sidbeam_draft_head_info> = 72;
template <>
inline constexpr size_t kFirstBytes<sidbeam_draft_config> = 88;
template <>
inline constexpr size_t kFirstBytes<sidbeam_draft_args> = 32;
template <>
inline constexpr size_t kFirstBytes<sidbeam_draft_result> = 56;

template <>
inline constexpr size_t kFirstBytes<sidbeam_output_layer_config> = 72;
template <>
inline constexpr size_t kFirstBytes<sidbeam_hidden_config> = 64;
template <>
inline constexpr size_t kFirstBytes<sidbeam_hidden_step_args> = 72;
template <>
inline constexpr size_t kFirstBytes<sidbeam_hidden_stats> = 80;

}  // namespace sidbeam
