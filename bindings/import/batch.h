// Rows of a catalogue, flat, and what is known of all of them.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_BATCH_H
#define SIDBEAM_IMPORT_BATCH_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attribute_values.h"
#include "family.h"

namespace importer {

// What is known of every SID; 0 or empty until it is known.
struct Shape {
  int32_t levels = 0;
  std::vector<int32_t> codes;  // [levels], or one number for every level while levels is not known
  bool variable_length = false;
  std::optional<int64_t> token_base;  // numbers are token ids, of ranges of codes[l] from here on
  // [levels]; empty while they are to be found. Begin and end tokens are found with them.
  std::vector<Family> families;
  std::vector<std::string> begin, end;
  bool framed = false;                    // begin and end are known
  std::vector<AttributeSpec> attributes;  // of types that may be yet to be found

  // Codes of a level, as far as they are known, else 0.
  int32_t codes_of(size_t level) const {
    if (levels == 0 && codes.size() == 1) return codes[0];
    return level < codes.size() ? codes[level] : 0;
  }
};

enum class IdForm { kNone, kSigned, kUnsigned, kText };

// Ids are in one of the two forms, or in neither.
struct Batch {
  std::vector<int32_t> codes;    // of all rows, end to end
  std::vector<int32_t> lengths;  // [rows]
  std::vector<int64_t> ids;      // [rows] where the source's ids are integers; u64 as the same bits
  std::string names;             // where they are text: row i has names[name_ends[i-1] .. name_ends[i])
  std::vector<int64_t> name_ends;
  size_t digit_names = 0;           // how many of the names are known to be up to 18 digits, as programs print them
  std::vector<int64_t> priorities;  // [rows], or empty
  std::vector<AttributeValues> attributes;

  size_t size() const { return lengths.size(); }
  // Enough to be handed on. Few enough rows to stay in a core's cache: 2^16 were 3 to 8 % slower. Long SIDs and long
  // ids make a batch of fewer rows, not of more memory.
  bool full() const {
    constexpr size_t kRows = size_t{1} << 12, kCodes = size_t{1} << 20, kNameBytes = size_t{1} << 22;
    size_t text = names.size();
    for (const AttributeValues& values : attributes) text += values.text.size();
    return size() >= kRows || codes.size() >= kCodes || text >= kNameBytes;
  }
  std::string_view name(size_t row) const;
  void add_name(std::string_view name);
  void clear();
};

}  // namespace importer

#endif
