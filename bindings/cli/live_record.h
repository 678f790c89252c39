// Items of JSON into a live catalogue, one at a time.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_LIVE_RECORD_H
#define SIDBEAM_CLI_LIVE_RECORD_H

#include <simdjson.h>

#include <string>
#include <vector>

#include "abi.h"
#include "keys.h"

namespace cli {

class LiveRecords {
 public:
  // Of a catalogue, one of whose versions this is; it must stay.
  explicit LiveRecords(const sidbeam_index* index);

  // {"item": 17, "sid": [3, 1, 2]}, with "priority" and attributes of the catalogue by name.
  void add(const std::string& place, simdjson::dom::element record, sidbeam_catalog* catalog);

 private:
  // One value, the same for every SID of the item.
  struct Value {
    sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
    uint8_t valid = 0;
    int64_t integer = 0;
    float number = 0;
    std::vector<std::string> texts;
  };
  // A value of `count` pairs, as the library takes it.
  struct Column;

  void read_sids(const std::string& place, simdjson::dom::element value);
  void read_sid(const std::string& place, simdjson::dom::array codes);
  Value read_value(const std::string& place, std::string_view name, simdjson::dom::element value) const;
  void send(const std::string& item, const int64_t* priority, const std::vector<Value>& values,
            sidbeam_catalog* catalog) const;

  const sidbeam_index* index_;
  sidbeam_index_info info_;
  KeyCheck keys_;
  std::vector<int32_t> codes_, lengths_;  // of the SIDs of the record
};

}  // namespace cli

#endif
