// Calls of the core, whose failure is an exception.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_CALL_H
#define SIDBEAM_IMPORT_CALL_H

#include <sidbeam/base.h>

#include "failure.h"

namespace importer {

// Calls a function of the core with these arguments and an error, and throws what that error says.
template <class... Parameters, class... Arguments>
void call(sidbeam_status (*function)(Parameters...), Arguments... arguments) {
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  if (const sidbeam_status status = function(arguments..., &err); status != SIDBEAM_OK) {
    throw Failure(err.message, status);
  }
}

}  // namespace importer

#endif
