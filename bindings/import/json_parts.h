// The elements of a JSON list, or the members of an object, one after the other out of a file that is not in memory
// whole. SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_JSON_PARTS_H
#define SIDBEAM_IMPORT_JSON_PARTS_H

#include <simdjson.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "files.h"

namespace importer {

class JsonParts {
 public:
  explicit JsonParts(const InputFile& file);

  // '{', '[', or whatever else the text begins with; -1: nothing.
  int opening() const { return opening_; }
  // Goes to the next part; *more: there is one. At the end any number of times.
  simdjson::error_code advance(bool* more);
  // The part and what follows it, as far as it is in memory. Valid until the next call that is not const.
  std::string_view window() const { return text_.window(); }
  // More of it, unless the part is in it whole.
  bool extend();
  // Bytes from the end of a part, which the text follows, to the next one or to what ends them all; nothing where the
  // part goes on, or the text ends.
  std::optional<size_t> bytes_between(std::string_view text) const;
  // The part as a whole.
  simdjson::error_code read(std::string_view* part);
  // The part is read, and so long.
  void skip(size_t bytes) { text_.skip(bytes); }
  // Where the part begins in the file.
  int64_t position() const { return text_.position(); }
  int64_t line() const;

 private:
  char closing() const { return opening_ == '{' ? '}' : ']'; }
  int peek();
  size_t find_end() const;
  bool grow();

  TextReader text_;
  int opening_;
  bool first_ = true, closed_ = false;
  int64_t line_ = 1;     // of the place that follows
  const char* counted_;  // in the window's memory
};

}  // namespace importer

#endif
