// The one symbol of the plugin: its table. SPDX-License-Identifier: Apache-2.0
#include "runner/cuda/plugin.h"

#include "runner/build_id.h"
#include "runner/cuda/interface.h"

namespace sidbeam::runner::cuda {
namespace {

constexpr RunnerPlugin kPlugin = {
    kRunnerPluginVersion,
    kRunnerBuildId,
    {attention_workspace, attention_run, attention_permute},
    {forward_upload,  forward_write,          forward_gather,       forward_release,     forward_zeros,
     forward_pinned,  forward_release_pinned, forward_check_memory, forward_create,      forward_destroy,
     forward_prefill, forward_decode,         forward_run_tree,     forward_tree_logits, forward_replay,
     forward_logits,  forward_states,         forward_list_beams,   forward_to_device,   forward_to_host,
     forward_wait,    forward_stream,         forward_memory_bytes},
    {hidden_create, hidden_destroy, hidden_view, hidden_children, hidden_product},
    {draft_create, draft_destroy, draft_view, draft_memory_bytes, draft_begin, draft_logits, draft_advance,
     draft_finish},
};

}  // namespace
}  // namespace sidbeam::runner::cuda

extern "C" __attribute__((visibility("default"))) const sidbeam::runner::RunnerPlugin* sidbeam_runner_cuda_plugin() {
  return &sidbeam::runner::cuda::kPlugin;
}
