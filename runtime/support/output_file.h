// A file that appears whole or not at all: written beside its name, synced, renamed. Shared by the library and the
// command. Errors are Failure(IO_ERROR) with what failed, the path and the reason.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "support/file_descriptor.h"
#include "support/leftovers.h"

struct stat;

namespace sidbeam {

// Until commit() an existing file of that name is unchanged. Without a commit(), nothing is left behind. A process that
// is killed between the last two steps of commit() leaves a file that the next OutputFile of the folder removes.
//
// A symbolic link is followed, even to a file that does not exist yet, and is kept. Owner, mode, access list and
// extended attributes of the file that is replaced are kept (file_attributes.h); other hard links keep the old
// contents.
class OutputFile {
 public:
  // Creates the file, so that a missing or read-only folder is reported immediately. So are attributes that cannot be
  // kept, unless allow_attribute_loss is set.
  OutputFile(const char* path, bool allow_attribute_loss);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  // Reserves the space if the file system can, so that a full disk is reported early. bytes > 0.
  void reserve(int64_t bytes);
  // Appends. A mapping of the file would save the copy, but a full disk, a quota or a lost server is then SIGBUS.
  void write(const void* data, int64_t bytes);
  void sync();
  // Call after sync(). If the new name cannot be synced, that is an error although the new file is in place.
  void commit();
  // After an attempt to commit(), for a set of files of which another could not be committed: removes the new file if
  // it replaced none, and returns whether it stays, in the place of an old one.
  bool withdraw();

 private:
  void find_place();
  bool find_old(struct stat& old) const;
  void create(unsigned mode);
  bool create_named(unsigned mode);
  void give_name();
  void sync_folder() const;
  [[noreturn]] void failed(const char* action, int error) const;

  std::string path_;  // as it was given
  FileDescriptor folder_;
  bool folder_is_readable_ = true;
  std::string name_;                           // in the folder, links followed
  bool replaces_ = false;                      // an old file
  bool may_be_there_ = false, there_ = false;  // the new one; a rename that failed may have happened
  TemporaryName temporary_;
  FileDescriptor file_;
  unsigned mode_ = 0;  // of the old file, to be kept; 0: none
  int64_t written_ = 0;
};

}  // namespace sidbeam
