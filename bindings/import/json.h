// SIDs and records out of JSON, for the formats that are made of it.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_JSON_H
#define SIDBEAM_IMPORT_JSON_H

#include <simdjson.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attributes.h"
#include "fields.h"
#include "sids.h"
#include "source.h"

namespace importer {

namespace ondemand = simdjson::ondemand;

// Views that it hands out are the parser's, valid as long as its document is.
class JsonReader {
 public:
  // `name_item` is told a record's item as soon as it is known.
  JsonReader(Sids& sids, Attributes& attributes, const Options& options,
             std::function<void(std::string_view)> name_item);

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

  // Where the values of the last record are in its text, for a pattern.
  struct Places {
    std::vector<Pattern::Mark> marks;   // but those of the SID
    std::vector<std::string_view> sid;  // parts of its only SID,
    bool whole;                         // as Sids::find_numbers has them
    bool simple;                        // false: what the others say is not all of it
  };
  const Places& places() const { return places_; }
  // Which field the items are in, as messages have it.
  std::string id_field() const;
  // Whether any record had a priority.
  bool found_priority() const { return found_priority_; }
  void begin_places();
  // The item where it is a key: what stands between its quotes, up to the first.
  void mark_item(std::string_view key);

 private:
  // A field of records: its name once it is known, and what was asked for.
  struct Field {
    std::string name;
    bool asked;
    const char* option;
  };
  struct Fields {
    Field item, sid, priority;
    std::vector<std::string> others;  // names of fields that are nothing
    std::string near_priority;        // one that is nearly the priority's, which nobody has asked for
  };
  enum class Role { kOther, kItem, kSid, kPriority, kNearPriority };

  // Which of them a record has had.
  struct Found {
    bool item = false, sid = false, priority = false, near_priority = false;
  };

  Role role_of(std::string_view key);
  bool fits(Field& field, const Names& names, std::string_view key);
  void check_keys();
  void check_other(ondemand::value value) const;
  void mark_value(ondemand::value& value);
  std::string_view unquoted(std::string_view raw);
  void read_list(Batch& batch, ondemand::array list, bool outer);
  bool is_several(std::string_view first);
  void read_number(Batch& batch, ondemand::value& value);
  std::string_view read_item(ondemand::value value);
  void read_attribute(size_t i, ondemand::value value);
  bool take_attribute(size_t i, ondemand::value& value, ondemand::json_type type);
  bool take_list(size_t i, ondemand::value& value);
  int64_t read_priority(ondemand::value value);
  void check_found(const Found& found) const;
  [[noreturn]] void fail_unclear(std::string_view text) const;
  [[noreturn]] void fail_value(ondemand::value& value) const;
  [[noreturn]] void fail_field(const Field& field, const std::string& expected) const;

  Sids& sids_;
  Attributes& attributes_;
  const Options& options_;
  std::function<void(std::string_view)> name_item_;
  Fields fields_;
  Places places_;
  bool found_priority_ = false;
  std::vector<std::string_view> keys_;  // of the object
  std::vector<std::string_view> scratch_;
  bool unclear_ = false;  // the list's first element is a SID of one code, or a token
};

}  // namespace importer

#endif
