// Codes to tokens: --offsets, --map and --end-column of a command that runs a model.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_VOCABULARY_H
#define SIDBEAM_CLI_VOCABULARY_H

#include <string>
#include <vector>

#include "abi.h"
#include "command_line.h"

namespace cli {

struct VocabularyOptions {
  std::string offsets, map;
  int64_t end_column = -1;
};
void add_vocabulary_options(Command command, VocabularyOptions& o);

class Vocabulary {
 public:
  Vocabulary(const VocabularyOptions& o, const std::string& index_path, const sidbeam_index_info& info);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  const sidbeam_vocabulary* view() const { return &view_; }
  int64_t token(size_t level, int32_t code) const;  // -1: it has none

 private:
  void read_map(const std::string& path, const sidbeam_index_info& info);

  std::vector<int64_t> offsets_, map_codes_;
  std::vector<std::vector<int32_t>> maps_;  // none, or one per level
  std::vector<const int32_t*> pointers_;
  sidbeam_vocabulary view_ = SIDBEAM_VOCABULARY_INIT;
};

}  // namespace cli

#endif
