// Failures of the importers and of the command, which compiles some of these files: an exception with a status, whose
// text is the one line that the user reads.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_FAILURE_H
#define SIDBEAM_IMPORT_FAILURE_H

#include <sidbeam/base.h>

#include <stdexcept>
#include <string>

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

}  // namespace importer

#endif
