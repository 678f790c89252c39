// The table for hosts that dlopen.
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>

#include "sidbeam/runner_api.h"
#include "support/arguments.h"

namespace {

constexpr sidbeam_runner_api kApi = {
    static_cast<uint32_t>(sizeof(sidbeam_runner_api)),
    sidbeam_runner_abi_version,
    sidbeam_model_open,
    sidbeam_model_get_info,
    sidbeam_model_retain,
    sidbeam_model_release,
    sidbeam_runner_create,
    sidbeam_runner_run,
    sidbeam_runner_submit,
    sidbeam_runner_cancel,
    sidbeam_runner_drain,
    sidbeam_runner_get_stats,
    sidbeam_runner_close,
    sidbeam_runner_destroy,
    sidbeam_attention_workspace,
    sidbeam_attention_run,
    sidbeam_attention_permute,
    sidbeam_draft_head_write,
    sidbeam_draft_head_open,
    sidbeam_draft_head_get_info,
    sidbeam_draft_head_retain,
    sidbeam_draft_head_release,
    sidbeam_draft_decoder_create,
    sidbeam_draft_decoder_run,
    sidbeam_draft_decoder_destroy,
    sidbeam_output_layer_create,
    sidbeam_output_layer_destroy,
    sidbeam_hidden_create,
    sidbeam_hidden_destroy,
    sidbeam_hidden_step,
    sidbeam_hidden_get_stats,
    sidbeam_draft_decoder_start,
    sidbeam_draft_decoder_decode,
};

// Entries stay where they are for ever.
static_assert(offsetof(sidbeam_runner_api, attention_permute) == 16 * sizeof(void*), "the table of ABI 1 has changed");

}  // namespace

extern "C" sidbeam_status sidbeam_runner_get_api(uint32_t abi_version, const sidbeam_runner_api** out,
                                                 sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    sidbeam::capi::require(out, "out");
    if (abi_version != SIDBEAM_RUNNER_ABI_VERSION)
      sidbeam::fail(SIDBEAM_UNSUPPORTED, "abi_version is %u, expected %u, that of the runner's library %s", abi_version,
                    SIDBEAM_RUNNER_ABI_VERSION, sidbeam_version());
    *out = &kApi;
  });
}
