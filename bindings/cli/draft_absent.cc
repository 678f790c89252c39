// sidbeam draft where the library that runs draft heads was not built. SPDX-License-Identifier: Apache-2.0
#include "draft_options.h"
#include "failure.h"

namespace cli {

void run_draft(const DraftOptions& /*o*/) {
  throw Failure("this program cannot run draft heads: it was built without the runner, with SIDBEAM_RUNNER=OFF");
}

}  // namespace cli
