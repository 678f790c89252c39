// The library as a method: a session, through the C ABI. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "library.h"
#include "method.h"

namespace bench {

class SidbeamMethod final : public Method {
 public:
  SidbeamMethod(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape, int32_t strategy,
                int32_t top_k);

  void start() override;
  void step(int32_t level, const Rows& rows) override;
  BeamsView beams() const override { return {beams_.parents, beams_.codes, beams_.scores, beams_.live}; }

 private:
  Shape shape_;
  Session session_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;
  std::vector<int32_t> row_map_;  // [slots, beams], where the rows of a step do not lie side by side
};

}  // namespace bench
