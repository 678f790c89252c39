// SPDX-License-Identifier: Apache-2.0
#include "support/codebook.h"

#include "support/error.h"
#include "support/escape.h"

namespace sidbeam {

void check_codebook(const char* what, std::string_view given, std::string_view own, const char* whose) {
  if (given.empty() || own.empty() || given == own) return;
  fail(SIDBEAM_INVALID_ARGUMENT, "%s is of codebook '%.150s', expected '%.150s', that of %s", what,
       escaped(given).c_str(), escaped(own).c_str(), whose);
}

}  // namespace sidbeam
