// Files that the library maps (SIDBEAM_RESIDENCY_MAP, the weights of a model). If one is truncated, or its disk fails,
// while it is read, the system sends SIGBUS: the command then fails as it does for any other reason, with one line and
// status 1. (Alternative: residency COPY, with which `verify` takes memory for a whole file and `lookup` the time to
// read it. `convert`, which must clean up after a failure, does use it.)
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_MAPPED_H
#define SIDBEAM_CLI_MAPPED_H

#include <string>

namespace cli {

// From now on SIGBUS is told as a failure of `command`.
void catch_lost_pages(const std::string& command);
// Call before `path` is mapped: the message will name it.
void name_mapped(const std::string& path);

}  // namespace cli

#endif
