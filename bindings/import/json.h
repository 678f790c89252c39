// SIDs and records out of JSON, for the formats that are made of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_JSON_H
#define SIDBEAM_IMPORT_JSON_H

#include <simdjson.h>

#include <string>
#include <string_view>
#include <vector>

#include "fields.h"
#include "sids.h"
#include "source.h"

namespace importer {

namespace ondemand = simdjson::ondemand;

// Views that it hands out are the parser's, valid as long as its document is.
class JsonReader {
 public:
  JsonReader(Sids& sids, const Options& options);

  // The SIDs of an item: a list or a string of tokens or numbers, a number, or a list of such.
  void read_sids(Batch& batch, ondemand::value value);

  struct Record {
    std::string_view item;
    int64_t priority = 0;
  };
  // An object with the item (unless a key has named it), its SIDs and its priority among its fields.
  Record read_record(Batch& batch, ondemand::object object, bool has_item);
  // Throws where simdjson has reported an error.
  void check(simdjson::error_code error) const;

  // A field of records: its name once it is known, and what was asked for.
  struct Field {
    std::string name;
    bool asked;
    const char* option;
  };
  struct Fields {
    Field item, sid, priority;
    std::vector<std::string> others;  // names of fields that are nothing
  };
  const Fields& fields() const { return fields_; }

 private:
  enum class Role { kOther, kItem, kSid, kPriority };

  Role role_of(std::string_view key);
  bool fits(Field& field, const Names& names, std::string_view key);
  void check_keys();
  void check_other(ondemand::value value) const;
  void read_list(Batch& batch, ondemand::array list, bool outer);
  bool is_several(std::string_view first);
  void read_number(Batch& batch, ondemand::value& value);
  std::string_view read_item(ondemand::value value);
  [[noreturn]] void fail_unclear(std::string_view text) const;
  [[noreturn]] void fail_value(ondemand::value& value) const;
  [[noreturn]] void fail_field(const Field& field, const std::string& expected) const;

  Sids& sids_;
  const Options& options_;
  Fields fields_;
  std::vector<std::string_view> keys_;  // of the object
  std::vector<std::string_view> scratch_;
  bool unclear_ = false;  // the list's first element is a SID of one code, or a token
};

// A file in memory, as the parser needs it.
class JsonText {
 public:
  explicit JsonText(const InputFile& file);
  simdjson::padded_string_view view() const;
  // The line that a place in it is in.
  int64_t line_of(const char* at) const;

 private:
  simdjson::padded_string text_;
  size_t begin_;  // after a byte order mark
};

}  // namespace importer

#endif
