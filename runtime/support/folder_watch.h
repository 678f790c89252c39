// Waits for changes in a folder. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "support/file_descriptor.h"

namespace sidbeam {

// What changes after it was made is not missed. Where the system cannot tell of changes (no inotify, a network file
// system that others write to), wait() takes its whole time.
class FolderWatch {
 public:
  explicit FolderWatch(const std::string& path);
  // Returns once something has changed, or after so many milliseconds.
  void wait(int64_t ms);

 private:
  FileDescriptor events_;
};

}  // namespace sidbeam
