// Temporary files beside their targets: recognisable names, locks that show a live writer, and the removal of files
// whose writer was killed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace sidbeam {

// A unique name in any folder, short enough for every file system; the target's name with a suffix might be too long.
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
  int folder_ = -1;  // the owner's, which must stay open while this lives
  std::string name_;
};

// Locks an open temporary file for as long as it is open. False if a sweep holds the lock and will remove the file. If
// the file system has no locks, the file is neither locked nor ever swept.
bool claim(int file);

// Removes the folder's temporary files that no writer holds. Files that cannot be read, locked or removed stay.
void sweep_leftovers(int folder);

}  // namespace sidbeam
