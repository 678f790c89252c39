// Names of sections and encodings, for tools and messages.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sidbeam {

const char* section_kind_name(uint16_t kind);
const char* section_encoding_name(uint16_t encoding);

// "section tokens of level 2", for messages.
struct SectionName {
  SectionName(uint16_t kind, int level);
  char text[64];
};

}  // namespace sidbeam
