// Failure of a command: an exception whose text is the one line that the user reads.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_FAILURE_H
#define SIDBEAM_CLI_FAILURE_H

#include "../import/failure.h"

namespace cli {

using importer::Failure;     // exit status 1: what, where, why
using importer::UsageError;  // exit status 2: the command line makes no sense

}  // namespace cli

#endif
