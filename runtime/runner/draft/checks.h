// What callers give a draft decoder, against its head. All throw as sidbeam_draft_decoder_create() and _run() say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/draft/forward.h"

namespace sidbeam::runner {

// The numbers of a config.
void check_draft_config(const sidbeam_draft_config& config);
// Levels, codes, lengths and codebook of an index, and that it has what the verification needs.
void check_catalogue(const DraftShape& shape, const sidbeam_index* index, int32_t verification);
// Levels, codes, lengths and codebook of the constraint of request i.
void check_constraint(const DraftShape& shape, const sidbeam_constraint* constraint, int64_t i);
// The number of requests.
void check_count(const sidbeam_rows& hidden, int32_t most_requests);
// All of them, with their strides, which are resolved. `place`: where the decoder is.
struct DraftPlace {
  int32_t device_type = 0, device_id = 0;
};
void check_hidden(const DraftShape& shape, const DraftPlace& place, int32_t most_requests, sidbeam_rows& rows);

}  // namespace sidbeam::runner
