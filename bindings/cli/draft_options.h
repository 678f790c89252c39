// The command line of sidbeam draft.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_DRAFT_OPTIONS_H
#define SIDBEAM_CLI_DRAFT_OPTIONS_H

#include <cstdint>
#include <string>
#include <vector>

namespace cli {

struct DraftOptions {
  std::string head, index, hidden, verify = "trie", normalize = "full", widths;
  int32_t beams = 0, top_k = 0;
  bool distinct = false, json = false;
};

inline const std::vector<std::string> kVerifications = {"trie", "hash", "none"};  // in the order of SIDBEAM_DRAFT_*

// Runs the head, or says that this program cannot: draft.cc, or draft_absent.cc in builds without the runner.
void run_draft(const DraftOptions& o);

}  // namespace cli

#endif
