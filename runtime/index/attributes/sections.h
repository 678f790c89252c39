// The sections of an attribute: which there are, whether a file has them, and the view of what is in them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/attributes/shape.h"
#include "index/format.h"

namespace sidbeam {

// The sections of an attribute, in file order.
std::vector<SectionSpec> attribute_sections(const AttributeShape& shape, uint64_t items);
// Throws CORRUPT unless the shapes are possible, and are in order of their names. Sets text_bytes.
void check_attributes(std::vector<AttributeShape>& shapes, const std::vector<Section>& sections, uint64_t items,
                      uint64_t file_bytes);
// The view of an attribute whose sections lie at `base` + offset. Refers to the shape's name.
Attribute view_of(const AttributeShape& shape, const std::vector<Section>& sections, uint64_t items,
                  const uint8_t* base);

}  // namespace sidbeam
