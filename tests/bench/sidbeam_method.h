// The library as a method: a session, through the C ABI. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "library.h"
#include "method.h"

namespace bench {

// What a session's beams are, and the truncation of the rows that are sampled.
struct Drawing {
  int32_t mode = SIDBEAM_MODE_SEARCH;
  int32_t top_k = 0;
  float top_p = 1;
};
// The key of all random numbers; the number of a slot is its request.
constexpr int64_t kSeed = 1;

// The codes of all levels have the same columns.
Session make_session(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape, int32_t strategy,
                     int32_t top_k = 0, int32_t mode = SIDBEAM_MODE_SEARCH);

class SidbeamMethod final : public Method {
 public:
  SidbeamMethod(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape, int32_t strategy,
                int32_t top_k, const Drawing& drawing = {});

  void start() override;
  // Slot 0 alone, making the draws of these numbers.
  void start_draws(std::span<const int64_t> draws);
  void step(int32_t level, const Rows& rows) override;
  BeamsView beams() const override { return {beams_.parents, beams_.codes, beams_.scores, beams_.live}; }
  const sidbeam_beams& arrays() const { return beams_; }
  // [slots, beams] ordinals of the beams, -1 none.
  void get_ordinals(int64_t* ordinals) const;

 private:
  void start_slots(int64_t count, const int32_t* widths, const int64_t* draws);

  Shape shape_;
  Drawing drawing_;
  Session session_;
  sidbeam_beams beams_ = SIDBEAM_BEAMS_INIT;
  std::vector<int32_t> row_map_;  // [slots, beams], where the rows of a step do not lie side by side
  std::vector<int64_t> seeds_, requests_;
  std::vector<int32_t> top_ks_, slots_;
  std::vector<float> top_ps_;
};

}  // namespace bench
