// NEZHA's draft head on a CUDA device, by way of the plugin. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runner/draft/decoder.h"

namespace sidbeam::runner {

// Throws Failure, as sidbeam_draft_decoder_create() says.
std::unique_ptr<DraftDecoder> make_cuda_draft(sidbeam_runtime* runtime, const sidbeam_draft_config& config);

}  // namespace sidbeam::runner
