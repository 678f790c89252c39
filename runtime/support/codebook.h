// SIDs of different codebooks (tokenizers) mean different things, even where they look alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace sidbeam {

// Throws INVALID_ARGUMENT if `what`, of codebook `given`, meets that of `whose`, and both are known, but not the same.
// An empty text is a codebook that nobody has named, and goes with all.
void check_codebook(const char* what, std::string_view given, std::string_view own, const char* whose);

}  // namespace sidbeam
