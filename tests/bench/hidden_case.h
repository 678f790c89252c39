// What the tables of bench_hidden time: a session at its last level, an output layer and hidden states.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>

#include "../handles.h"
#include "context.h"
#include "sidbeam/hidden.h"
#include "support/memory.h"

namespace bench {

inline void check(sidbeam_status status, const sidbeam_error& error) {
  if (status != SIDBEAM_OK) throw std::runtime_error(error.message);
}

struct HiddenOptions : TableOptions {
  int columns = 0, width = 0, slots = 0, beams = 0;  // 0: those of the table
};

// SIDs of three codes below `columns`: random prefixes of two codes, each with `children` others.
struct HiddenShape {
  int64_t columns, width;
  int32_t slots, beams, prefixes, children;
};

handles::Runtime make_hidden_runtime();

class HiddenCase {
 public:
  static constexpr int32_t kLevels = 3;

  HiddenCase(sidbeam_runtime* runtime, const HiddenShape& shape);

  const HiddenShape& shape() const { return shape_; }
  int64_t rows() const { return int64_t{shape_.slots} * shape_.beams; }
  sidbeam_session* session() const { return session_.get(); }
  const sidbeam::Buffer<float>& weights() const { return weights_; }
  const sidbeam::Buffer<float>& hidden() const { return hidden_; }
  sidbeam_hidden_stats stats() const;

  // Starts again, up to the last level.
  void to_last_level();
  void step(int32_t path = SIDBEAM_HIDDEN_FASTEST);
  // Of the next step.
  struct Children {
    std::vector<int64_t> offsets;  // [rows + 1] by beam
    std::vector<int32_t> columns;
  };
  Children children() const;

 private:
  HiddenShape shape_;
  handles::Constraint constraint_;
  sidbeam::Buffer<float> weights_, hidden_;
  handles::Session session_;
  std::unique_ptr<sidbeam_output_layer, handles::Releaser<sidbeam_output_layer_destroy>> layer_;
  std::unique_ptr<sidbeam_hidden, handles::Releaser<sidbeam_hidden_destroy>> step_;
};

// Processor time of the work, where it is less than before.
template <class Work>
void keep_least(const Work& work, double& least) {
  const double begin = thread_microseconds();
  work();
  least = std::min(least, thread_microseconds() - begin);
}

// The table `paths`.
Measurements paths_table(const HiddenOptions& options);

}  // namespace bench
