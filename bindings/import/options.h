// What the caller has asked for.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_OPTIONS_H
#define SIDBEAM_IMPORT_OPTIONS_H

#include <sidbeam/import.h>

#include <string>

#include "batch.h"
#include "files.h"

namespace importer {

struct Options {
  std::string input, format, ids, item_column, sid_columns, priority_column, token_pattern, attributes;
  Shape shape;  // as far as it is given
  int32_t quotes = SIDBEAM_QUOTES_AUTO;
  bool text_ids = false;
  bool command = false;  // messages name options of the command
  // Reports, and throws where the caller wants to stop.
  std::function<void(int32_t phase, int64_t done, int64_t total)> progress;

  // The name of a field of the configuration, as messages have it: "variable_length" or "--variable-length".
  std::string named(std::string field) const {
    if (!command) return field;
    for (char& c : field) c = c == '_' ? '-' : c;
    return "--" + field;
  }
};

}  // namespace importer

#endif
