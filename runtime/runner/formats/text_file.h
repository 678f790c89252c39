// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace sidbeam::runner {

// Where a folder's file is; of an empty name that of the working folder.
std::string path_within(const std::string& folder, const char* name);

// Whether there is a file or folder of that name. Throws Failure(IO_ERROR) where the system cannot tell.
bool exists(const std::string& path);

// A whole file of at most `most` bytes. Throws Failure: IO_ERROR; CORRUPT where it is larger.
std::string read_text(const char* path, int64_t most);

}  // namespace sidbeam::runner
