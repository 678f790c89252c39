// A file that is there whole or not at all: written through a mapping beside its name, synced, renamed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "support/mapped_file.h"

namespace sidbeam {

// Until commit() returns, the file of that name is as it was; if it is never reached, nothing is left behind.
class OutputFile {
 public:
  // Makes the file, so that a folder that is not there or not writable is known at once.
  explicit OutputFile(const char* path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();
  // Takes the space on disk, so that writing through the mapping cannot run out of it. bytes > 0; zeros at first.
  void allocate(int64_t bytes);
  uint8_t* data() { return data_; }
  void sync();
  void commit();

 private:
  void follow_links();
  void create();
  [[noreturn]] void failed(const char* action, int error) const;

  std::string path_, directory_, temporary_;  // temporary_: the name beside path_, "" while there is none
  FileDescriptor file_;
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace sidbeam
