// A line of JSON that is like the one before it: objects of strings without escapes, integers and flat lists, whose
// fields have been met. A scanner for those alone is several times as fast as a parser for all of JSON, which takes the
// other lines, and says what is wrong. (simdjson's iterate_many over many lines was the alternative: it finds no errors
// by line, and pays for the structure of every field.)
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_JSON_LINE_H
#define SIDBEAM_IMPORT_JSON_LINE_H

#include <string>
#include <string_view>
#include <vector>

#include "json.h"

namespace importer {

class JsonLine {
 public:
  explicit JsonLine(const JsonReader::Fields& fields) : fields_(fields) {}

  // True: the line is such an object, with its item, a SID and perhaps a priority, which have been read. False: it is
  // anything else. At least 8 bytes after the line must be readable.
  bool scan(std::string_view line);

  std::string_view item;
  int64_t priority;
  // The SID, in one of three forms.
  enum class Form { kNumbers, kTokens, kText } form;
  int64_t numbers[SIDBEAM_MAX_LEVELS];
  std::string_view tokens[SIDBEAM_MAX_LEVELS];  // of a text the first
  size_t count;

 private:
  bool scan_object();
  bool scan_field(std::string_view key);
  bool scan_sid();
  bool scan_item();
  bool scan_string(std::string_view* text);
  bool scan_number(int64_t* number);
  bool skip_value();
  void skip_spaces() {
    while (at_ < end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }

  const JsonReader::Fields& fields_;
  const char *at_ = nullptr, *end_ = nullptr;
  uint64_t others_seen_ = 0;
  bool item_seen_ = false, sid_seen_ = false, priority_seen_ = false, ascii_ = true;
};

}  // namespace importer

#endif
