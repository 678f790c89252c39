// Turns a catalogue into the bytes of an index.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "index/arrow/stream.h"
#include "index/build/catalogue.h"
#include "index/build/plan.h"
#include "index/index.h"
#include "sidbeam/builder.h"
#include "support/cpu_target.h"
#include "support/memory.h"

namespace sidbeam {

struct BuilderState;  // builder.cc

// Implements sidbeam_builder. The functions are those of sidbeam/builder.h, but report errors by throwing Failure.
class Builder {
 public:
  Builder(const sidbeam_builder_config& config, int threads, const Allocator& allocator,
          CpuTarget target = best_cpu_target());
  ~Builder();

  void add(const Catalogue::Pairs& pairs);  // as the configuration has them
  void add(const int32_t* codes, const int32_t* lengths, int64_t count, const int64_t* ids, const int64_t* priorities);
  void add_named(const int32_t* codes, const int32_t* lengths, int64_t count, const char* id_bytes,
                 const int64_t* id_offsets, const int64_t* priorities);
  int64_t add_arrow(arrow::Stream& stream, const sidbeam_arrow_config& config);
  void declare_attribute(const char* name, int32_t type);
  void set_attribute(const sidbeam_attribute_column& column, int64_t count);
  void set_metadata(const char* key, const char* value);
  Plan plan();
  void write(const char* path);
  Index finish();

 private:
  std::unique_ptr<BuilderState> state_;
};

}  // namespace sidbeam
