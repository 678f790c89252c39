// What run is asked for: tokens, or histories of items, which become the tokens of their SIDs.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_PROMPTS_H
#define SIDBEAM_CLI_PROMPTS_H

#include <map>
#include <string>
#include <vector>

#include "vocabulary.h"

namespace cli {

struct Prompt {
  std::string place;  // "--tokens", "'requests.jsonl':7": how errors name it
  std::vector<int32_t> tokens;
};

// Items of an index, as tokens. Of an item's SIDs the first counts.
class Histories {
 public:
  // Positions are of `group` tokens, filled up by -1; `start` comes before every history.
  Histories(const sidbeam_index* index, const sidbeam_index_info& info, const Vocabulary& vocabulary, int32_t group,
            std::vector<int32_t> start);

  void begin(Prompt& prompt) const;
  void append(const std::string& item, Prompt& prompt);

 private:
  void number_items();
  void fill_position(Prompt& prompt) const;

  const sidbeam_index* index_;
  const sidbeam_index_info& info_;
  const Vocabulary& vocabulary_;
  size_t group_;
  std::vector<int32_t> start_;
  // First item row of each id; filled when the first item comes. Whoever names the items knows the seed of the standard
  // library's hash and could make a table of them quadratic.
  std::map<std::string, int64_t> rows_;
};

Prompt prompt_of_tokens(const std::string& option, const std::string& list);
Prompt prompt_of_history(const std::string& option, const std::string& list, Histories& histories);
// JSON lines: {"tokens": [5, 9]} or {"history": ["B07", 17]}, one per line; blank lines and other fields are passed
// over.
std::vector<Prompt> read_prompts(const std::string& path, Histories& histories);

}  // namespace cli

#endif
