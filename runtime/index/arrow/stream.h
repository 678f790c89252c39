// A stream of record batches, consumed: it, its schema and its batches are released exactly once.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sidbeam/arrow.h"

namespace sidbeam::arrow {

// Owns what has a release callback.
template <class T>
struct Owned {
  T value = {};
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { release(); }
  void release() {
    if (value.release != nullptr) value.release(&value);
    value.release = nullptr;
  }
};

// Takes a caller's stream, which is empty from then on.
class Stream {
 public:
  // `given` may be NULL, or be released already: then the first call throws INVALID_ARGUMENT.
  explicit Stream(ArrowArrayStream* given) noexcept;
  // Both throw IO_ERROR, or OUT_OF_MEMORY, with what the stream says.
  void read_schema(Owned<ArrowSchema>& schema);
  // False at the end.
  bool next(Owned<ArrowArray>& batch);

 private:
  void check(int error, const char* call);
  Owned<ArrowArrayStream> stream_;
};

}  // namespace sidbeam::arrow
