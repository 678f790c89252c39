// The command line of sidbeam run.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_RUN_OPTIONS_H
#define SIDBEAM_CLI_RUN_OPTIONS_H

#include <string>
#include <vector>

#include "items.h"
#include "rules.h"
#include "vocabulary.h"

namespace cli {

struct RunOptions {
  std::string model, index, tokens, history, input, start_tokens, begin_tokens, normalize = "full", weights = "stored";
  std::string base, draft, draft_base, speculate = "strict";
  std::string head, placeholders, verify = "trie", widths;
  VocabularyOptions vocabulary;
  RuleOptions rules;
  int32_t beams = 0, group = 1, threads = 0, draft_beams = 0, top_k = 0;
  int64_t seed = 0;
  bool distinct = false, json = false;
  Cap cap;
};

inline const std::vector<std::string> kWeights = {"stored", "f32", "f16", "bf16", "int8"};

// Runs the model, or says that this program cannot: run.cc, or run_absent.cc in builds without the runner.
void run_model(const RunOptions& o);

}  // namespace cli

#endif
