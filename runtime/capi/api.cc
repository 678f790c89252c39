// The table for hosts that dlopen.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/api.h"

#include <cstddef>

#include "capi/guard.h"

namespace {

constexpr sidbeam_api kApi = {
    static_cast<uint32_t>(sizeof(sidbeam_api)),
    sidbeam_version,
    sidbeam_abi_version,
    sidbeam_status_name,
    sidbeam_cpu_target,
    sidbeam_runtime_create,
    sidbeam_runtime_release,
    sidbeam_index_peek,
    sidbeam_index_open,
    sidbeam_index_open_memory,
    sidbeam_index_retain,
    sidbeam_index_release,
    sidbeam_index_verify,
    sidbeam_index_get_info,
    sidbeam_index_get_section,
    sidbeam_index_get_metadata,
    sidbeam_index_codebook,
    sidbeam_index_sid,
    sidbeam_index_find_sid,
    sidbeam_index_ordinals,
    sidbeam_index_children,
    sidbeam_index_item_rows,
    sidbeam_index_item_ordinal,
    sidbeam_index_item_id,
    sidbeam_index_find_item,
    sidbeam_index_upload,
    sidbeam_index_get_upload,
    sidbeam_index_unload,
    sidbeam_builder_create,
    sidbeam_builder_add,
    sidbeam_builder_add_named,
    sidbeam_builder_set_metadata,
    sidbeam_builder_plan,
    sidbeam_plan_estimate,
    sidbeam_plan_get_info,
    sidbeam_plan_get_section,
    sidbeam_plan_destroy,
    sidbeam_builder_write,
    sidbeam_builder_finish,
    sidbeam_builder_destroy,
    sidbeam_constraint_create,
    sidbeam_constraint_retain,
    sidbeam_constraint_release,
    sidbeam_constraint_get_info,
    sidbeam_session_create,
    sidbeam_session_start,
    sidbeam_session_step,
    sidbeam_session_get_beams,
    sidbeam_session_fetch,
    sidbeam_session_get_items,
    sidbeam_session_stop,
    sidbeam_session_get_stats,
    sidbeam_session_get_counters,
    sidbeam_session_destroy,
    sidbeam_constraint_set_create,
    sidbeam_constraint_set_destroy,
    sidbeam_constraint_set_prefixes,
    sidbeam_constraint_set_advance,
    sidbeam_constraint_set_mask,
    sidbeam_constraint_set_bitmask,
    sidbeam_constraint_set_topk,
    sidbeam_constraint_set_sample,
    sidbeam_disc_create,
    sidbeam_disc_next,
    sidbeam_disc_add,
    sidbeam_disc_get,
    sidbeam_disc_destroy,
    sidbeam_session_children,
    sidbeam_speculation_create,
    sidbeam_speculation_begin,
    sidbeam_speculation_get_tree,
    sidbeam_speculation_add,
    sidbeam_speculation_get_mask,
    sidbeam_speculation_verify,
    sidbeam_speculation_get_stats,
    sidbeam_speculation_destroy,
    sidbeam_relaxed_draw,
    sidbeam_relaxed_verify,
    sidbeam_index_bytes,
    sidbeam_index_write,
    sidbeam_builder_add_arrow,
    sidbeam_arrow_inspect,
    sidbeam_index_items,
    sidbeam_index_get_attribute,
    sidbeam_index_find_attribute,
    sidbeam_index_attribute_integers,
    sidbeam_index_attribute_numbers,
    sidbeam_index_attribute_lists,
    sidbeam_index_attribute_string,
    sidbeam_builder_declare_attribute,
    sidbeam_builder_set_attribute,
    sidbeam_filter_from_items,
    sidbeam_filter_from_rows,
    sidbeam_filter_from_term,
    sidbeam_filter_parse,
    sidbeam_filter_text,
    sidbeam_filter_combine,
    sidbeam_filter_update,
    sidbeam_filter_prepare,
    sidbeam_filter_get_info,
    sidbeam_filter_rows,
    sidbeam_filter_retain,
    sidbeam_filter_release,
    sidbeam_constraint_exclude,
    sidbeam_constraint_items,
};

// Entries stay where they are for ever.
static_assert(offsetof(sidbeam_api, constraint_set_topk) == 60 * sizeof(void*), "the table of ABI 1 has changed");

}  // namespace

extern "C" sidbeam_status sidbeam_get_api(uint32_t abi_version, const sidbeam_api** out, sidbeam_error* err) {
  return sidbeam::guarded(err, [&] {
    sidbeam::capi::require(out, "out");
    if (abi_version != SIDBEAM_ABI_VERSION)
      sidbeam::fail(SIDBEAM_UNSUPPORTED, "abi_version is %u, expected %u, that of library %s", abi_version,
                    SIDBEAM_ABI_VERSION, sidbeam_version());
    *out = &kApi;
  });
}
