// Pairs of a stream of Arrow's record batches, into a catalogue. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/arrow/stream.h"
#include "index/build/catalogue.h"

namespace sidbeam {

// sidbeam_builder_add_arrow(): all pairs of the stream, or throws and adds none. Returns their number.
int64_t add_arrow(Catalogue& catalogue, arrow::Stream& stream, const sidbeam_arrow_config& config, int threads);

// sidbeam_arrow_inspect(): codes [SIDBEAM_MAX_LEVELS], or nullptr.
sidbeam_arrow_info inspect_arrow(arrow::Stream& stream, const sidbeam_arrow_config& config, int32_t* codes);

}  // namespace sidbeam
