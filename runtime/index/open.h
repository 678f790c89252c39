// Parts of an open that others use.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/header.h"
#include "index/index.h"
#include "support/memory.h"

namespace sidbeam {

// The alignment of memory that holds a whole index: that of its large sections.
inline constexpr int64_t kIndexAlignment = 4096;

// Memory for a whole index, on huge pages where the system has them.
class IndexMemory {
 public:
  IndexMemory(const Allocator& allocator, int64_t bytes);
  IndexMemory(const IndexMemory&) = delete;
  IndexMemory& operator=(const IndexMemory&) = delete;
  ~IndexMemory();
  uint8_t* data() { return data_; }
  // The contents of this part are not needed any more. Gives its pages back, unless the memory is the caller's.
  void discard(int64_t offset, int64_t bytes);
  IndexBytes release();

 private:
  Allocator allocator_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

// An index over bytes that have this header.
Index make_index(const FileHeader& header, IndexBytes bytes);

}  // namespace sidbeam
