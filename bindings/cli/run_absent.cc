// sidbeam run where the library that runs models was not built. SPDX-License-Identifier: Apache-2.0
#include "failure.h"
#include "run_options.h"

namespace cli {

void run_model(const RunOptions& /*o*/) {
  throw Failure("this program cannot run models: it was built without the runner, with SIDBEAM_RUNNER=OFF");
}

}  // namespace cli
