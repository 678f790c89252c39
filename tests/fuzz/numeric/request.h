// A request to decode, drawn from the input: what every way must answer alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include "../../differential/checks.h"

namespace fuzz::numeric {

struct Request {
  size_t subject = 0;
  differential::World world;  // how the rows are read
  int32_t width = 1;
  int64_t seed = 0;          // of draws
  int32_t truncation_k = 0;  // 0: none
  float truncation_p = 1;    // 1: none
  float noise = 1;
  oracle::Sid prefix;
  std::vector<std::vector<differential::RawRow>> rows;  // [step][beam], the rows of a step again and again

  const differential::RawRow& row(size_t step, size_t beam) const {
    return rows[step % rows.size()][beam % rows[step % rows.size()].size()];
  }
  // Whether the oracle, in float64, can tell what f32 must give: an extreme soft-cap or a score at the end of the range
  // of f32 depends on the last bit of a tanh or a logarithm.
  bool oracle_can_tell() const;
};

Request draw_request(FuzzedDataProvider& input);

}  // namespace fuzz::numeric
