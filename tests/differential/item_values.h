// Attributes of the items of a catalogue, of which each pair of a SID and an item has its own values.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sidbeam/sidbeam.h>

#include "case.h"
#include "oracle.h"

namespace differential {

// Of each type that a cap takes one.
inline constexpr size_t kAttributes = 4;
extern const char* const kAttributeNames[kAttributes];

// The values that a cap counts, by item row: none where the row is null or its list is empty.
std::vector<std::vector<int64_t>> values_by_row(const Case& c, size_t attribute, const oracle::Catalogue& catalogue);

// The values of some pairs, in an array that outlives the column.
struct AttributeValues {
  AttributeValues(const Case& c, size_t attribute, const std::vector<oracle::Pair>& pairs, size_t from, size_t to);
  AttributeValues(const AttributeValues&) = delete;
  std::vector<int64_t> integers, offsets = {0}, lists = {0};
  std::vector<uint8_t> bools, valid;
  std::string text;
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
};

void declare_attributes(sidbeam_builder* builder);
// Of the pairs [from, to), which are those of the last add.
void set_attributes(sidbeam_builder* builder, const Case& c, const std::vector<oracle::Pair>& pairs, size_t from,
                    size_t to);

}  // namespace differential
