// What the sections of an attribute will hold, found before they are placed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "index/build/catalogue.h"
#include "index/build/sorted.h"

namespace sidbeam {

struct AttributeScan {
  AttributeShape shape;  // without first_section
  // Of the strings that an item has: their numbers in the catalogue, by bytes rising; and for each of the catalogue's
  // its number in that order. Those that no item has any more, of pairs that were left out, are not counted.
  Buffer<uint32_t> dictionary, numbers;

  int64_t bytes() const { return dictionary.bytes() + numbers.bytes(); }
};

// Of every attribute, by name, rising.
std::vector<AttributeScan> scan_attributes(const Catalogue& catalogue, const SortedCatalogue& sorted, int threads);

}  // namespace sidbeam
