// SPDX-License-Identifier: Apache-2.0
#include "index/attributes/digest.h"

#include "index/attributes/sections.h"

namespace sidbeam {

// Hashes numbers of fixed width in a fixed order, so that no two sets of attributes give the same stream.
Hash128 attribute_digest(const std::vector<AttributeShape>& shapes, uint64_t items,
                         const std::vector<Hash128>& sections) {
  std::vector<uint64_t> stream = {items, shapes.size()};
  for (const AttributeShape& shape : shapes) {
    const Hash128 name = xxh3_128(CpuTarget::kBaseline, shape.name.data(), shape.name.size());
    stream.insert(stream.end(), {name.low, name.high, static_cast<uint64_t>(shape.type), shape.nulls});
    const size_t count = attribute_sections(shape, items).size();
    for (size_t i = shape.first_section; i < shape.first_section + count; ++i)
      stream.insert(stream.end(), {sections[i].low, sections[i].high});
  }
  return xxh3_128(CpuTarget::kBaseline, stream.data(), stream.size() * sizeof(uint64_t));
}

}  // namespace sidbeam
