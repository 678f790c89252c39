// Carries permissions and other attributes of a file over to the file that replaces it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

namespace sidbeam {

// The file that is going to be replaced.
struct OldFile {
  int folder;
  const char* name;  // in the folder
  const char* path;  // for messages
  const struct stat& status;
};

// Gives the open file `to` the owner, mode, access list (ACL) and extended attributes of the old one, and returns the
// mode. An attribute that cannot be kept is Failure(IO_ERROR) or, with allow_loss, is left out in a way that grants
// nobody more than the old file did. Attributes that speak of the contents (file capabilities, measurements of IMA)
// stay behind, as with any write. A file system without such attributes has none to lose.
unsigned keep_attributes(const OldFile& old, int to, bool allow_loss);

}  // namespace sidbeam
