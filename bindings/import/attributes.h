// Attributes of items: the fields or columns that the caller names, their types and their values.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_ATTRIBUTES_H
#define SIDBEAM_IMPORT_ATTRIBUTES_H

#include <string>
#include <string_view>
#include <vector>

#include "batch.h"

namespace importer {

struct Options;

// "price,region:string": SIDBEAM_ATTRIBUTE_* of each name, 0 where the file is to tell.
std::vector<AttributeSpec> parse_attributes(const Options& options);
// "i64", "strings" and so on.
const char* attribute_type_name(int32_t type);

// The values of one record after the other. Those of types that are not known yet teach the type, and are not kept.
class Attributes {
 public:
  explicit Attributes(const std::vector<AttributeSpec>& specs);

  bool empty() const { return columns_.empty(); }
  size_t size() const { return columns_.size(); }
  const std::string& name(size_t i) const { return columns_[i].spec.name; }
  // The attribute of this name, or -1.
  int find(std::string_view name) const;

  // A record begins, all of whose values are null.
  void begin();
  // Values of the record. All but null return whether they suit the type.
  void null(size_t i) { columns_[i].found = true; }
  bool integer(size_t i, int64_t value);
  // `text`: as it stands in the file.
  bool number(size_t i, double value, std::string_view text);
  bool truth(size_t i, bool value);
  bool text(size_t i, std::string_view value);
  bool list(size_t i, std::vector<std::string> value);
  // Of CSV, whose text may be anything; strings of a list are separated by |.
  bool cell(size_t i, std::string_view text);
  // "an integer (i64)": what would have suited.
  std::string expected(size_t i) const;
  // The record is complete: all rows that have come into the batch with it have its values.
  void end(Batch& batch) const;

  // After the last record. Throws where an attribute was in none of them, or none has a value that tells the type.
  std::vector<AttributeSpec> finish(const Options& options, const char* what) const;

 private:
  struct Column {
    AttributeSpec spec;
    bool given = false;    // the type is known
    bool found = false;    // a record had it
    AttributeValue value;  // of the record
  };
  bool teach(Column& column, int32_t type, bool untyped);
  bool keep_number(Column& column, double value);
  bool keep_text(Column& column, std::string_view text);

  std::vector<Column> columns_;
};

}  // namespace importer

#endif
