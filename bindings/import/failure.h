// Failures of the importers and of the command, which compiles some of these files: an exception with a status, whose
// text is the one line that the user reads.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_FAILURE_H
#define SIDBEAM_IMPORT_FAILURE_H

#include <sidbeam/base.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace importer {

// What, where, why.
struct Failure : std::runtime_error {
  explicit Failure(const std::string& what, sidbeam_status code = SIDBEAM_CORRUPT)
      : std::runtime_error(what), status(code) {}
  sidbeam_status status;
};

// The request makes no sense, whatever the file holds.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a message shows of an id or a token: enough to find it, and not so much that the rest is cut off.
inline std::string shortened(std::string_view text) {
  constexpr size_t kMost = 80;
  if (text.size() <= kMost) return std::string(text);
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;  // within a character
  return std::string(text.substr(0, end)) + "...";
}

}  // namespace importer

#endif
