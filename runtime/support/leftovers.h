// Temporary files beside their targets: names that are known again, locks that say that a writer lives, and the removal
// of those whose writer was killed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sidbeam {

// A name of its own in any folder, short enough for every file system: the target's with a suffix might not be.
std::string temporary_name();

// A file's temporary name in a folder, removed with the object unless it was renamed.
class TemporaryName {
 public:
  TemporaryName() = default;
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;
  ~TemporaryName() { remove(); }
  void set(int folder, std::string name);
  void remove();
  void renamed() { name_.clear(); }
  bool empty() const { return name_.empty(); }
  const char* text() const { return name_.c_str(); }

 private:
  int folder_ = -1;  // the owner's, open for as long as this lives
  std::string name_;
};

// Locks an open temporary file for as long as it is open. False where another has the lock: a sweep, which will remove
// the file. Where the file system has no locks it is not locked, and never swept either.
bool claim(int file);

// Removes temporary files of the folder that no writer holds. What cannot be read, locked or removed stays.
void sweep_leftovers(int folder);

}  // namespace sidbeam
