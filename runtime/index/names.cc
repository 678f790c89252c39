// SPDX-License-Identifier: Apache-2.0
#include "index/names.h"

#include <cstdio>

#include "schemas/index_generated.h"

namespace sidbeam {

const char* section_kind_name(uint16_t kind) {
  static constexpr const char* kNames[] = {"none",
                                           "row_pointers",
                                           "tokens",
                                           "dense_nodes",
                                           "dense_node_ranks",
                                           "dense_masks",
                                           "dense_mask_ranks",
                                           "ordinals",
                                           "end_edges",
                                           "end_ordinals",
                                           "columns",
                                           "hash_keys",
                                           "hash_ordinals",
                                           "item_offsets",
                                           "item_ids",
                                           "item_name_offsets",
                                           "item_names",
                                           "tail",
                                           "tail_splits",
                                           "seeded_hash_keys",
                                           "attribute_valid",
                                           "attribute_integers",
                                           "attribute_numbers",
                                           "attribute_bools",
                                           "attribute_offsets",
                                           "attribute_codes",
                                           "dictionary_offsets",
                                           "dictionary_text",
                                           "item_priorities"};
  static_assert(sizeof kNames / sizeof kNames[0] == static_cast<size_t>(format::SectionKind::MAX) + 1);
  return kind < sizeof kNames / sizeof kNames[0] ? kNames[kind] : "unknown";
}

const char* section_encoding_name(uint16_t encoding) {
  static constexpr const char* kNames[] = {"none",
                                           "u16",
                                           "u32",
                                           "u64",
                                           "i64",
                                           "bits",
                                           "bytes",
                                           "mixed_radix",
                                           "hashed_key",
                                           "interleaved_pairs",
                                           "item_column_tail",
                                           "wide_item_column_tail",
                                           "f32"};
  static_assert(sizeof kNames / sizeof kNames[0] == static_cast<size_t>(format::Encoding::MAX) + 1);
  return encoding < sizeof kNames / sizeof kNames[0] ? kNames[encoding] : "unknown";
}

SectionName::SectionName(uint16_t kind, int level) {
  if (level < 0) {
    std::snprintf(text, sizeof text, "section %s", section_kind_name(kind));
  } else {
    std::snprintf(text, sizeof text, "section %s of level %d", section_kind_name(kind), level);
  }
}

}  // namespace sidbeam
