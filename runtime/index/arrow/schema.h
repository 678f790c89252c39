// The schema of a stream, read once: names, and the types that SIDs, items and priorities may have.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sidbeam/arrow.h"

namespace sidbeam::arrow {

enum class Type : uint8_t {
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF32,
  kF64,
  kText,  // binary too
  kLargeText,
  kTextView,
  kList,
  kLargeList,
  kListView,
  kLargeListView,
  kFixedList,
  kStruct,
  kBool,  // bits
  kOther
};

inline bool is_integer(Type type) { return type <= Type::kU64; }
inline bool is_number(Type type) { return type <= Type::kF64; }
inline bool is_text(Type type) { return type >= Type::kText && type <= Type::kTextView; }
inline bool is_list(Type type) { return type >= Type::kList && type <= Type::kFixedList; }
inline bool is_list_view(Type type) { return type == Type::kListView || type == Type::kLargeListView; }

struct Field {
  std::string name;               // as it came
  std::string shown, format;      // for messages
  Type type = Type::kOther;       // of a dictionary, that of its indices
  int64_t fixed = 0;              // elements of a fixed-size list
  std::vector<Field> children;    // of a list, and of the struct that is the record batch
  std::vector<Field> dictionary;  // the values, or none
};

// Throws INVALID_ARGUMENT where the schema is not one.
Field read_schema(const ArrowSchema& schema);

// The columns that a config names, by their place in the record batch.
struct Columns {
  bool bare = false;  // there is no record batch: the stream is the column of SIDs
  int sid = -1;       // lists; or, -1, one column per level
  std::vector<int> levels;
  int item = -1, priority = -1;  // -1: none
  std::vector<int> attributes;
};

// Throws INVALID_ARGUMENT where a column is missing, ambiguous or of a type that cannot be read.
Columns choose_columns(const Field& batch, const sidbeam_arrow_config& config);

// The fields of the SIDs: one of lists, or one per level.
std::vector<const Field*> sid_fields(const Field& batch, const Columns& columns);

}  // namespace sidbeam::arrow
