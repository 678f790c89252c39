// A small catalogue for benchmarks of the runner. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../random_constraint.h"

namespace bench {

using handles::check;

// Random SIDs of three levels.
struct Catalogue3 {
  explicit Catalogue3(int32_t codes = 3, int64_t sids = 5)
      : constraint(handles::make_constraint(runtime.get(), {codes, codes, codes}, sids, 1)) {}

  handles::Runtime runtime = handles::make_runtime();
  handles::Constraint constraint;
};

}  // namespace bench
