// What decode and sample share: logits from a file, where one row per level serves every beam, the options that say how
// its columns and numbers are meant, and sessions over them.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_SEARCH_INPUT_H
#define SIDBEAM_CLI_SEARCH_INPUT_H

#include <string>
#include <vector>

#include "abi.h"
#include "command_line.h"
#include "items.h"
#include "npy.h"

namespace cli {

struct SearchOptions {
  std::string index, logits, strategy = "trie", normalize = "full", offsets;
  int64_t end_column = -1;
  double soft_cap = 0.0;
  bool distinct = false, json = false;
};
// Adds them to a command, with the strategies and normalisations that it offers.
void add_search_options(Command command, SearchOptions& o, const std::vector<std::string>& strategies,
                        const std::vector<std::string>& normalizations);
bool is_above_0(double number);  // as a float, into which a positive double may round to 0
void check_soft_cap(const SearchOptions& o);

// [requests, levels, columns] in a file.
struct Logits {
  NpyArray array;
  int32_t dtype;
  int64_t requests, columns;
};

// The index and the logits of a command, checked against each other.
struct SearchInput {
  explicit SearchInput(const SearchOptions& options);

  const SearchOptions& o;
  Index index;
  sidbeam_index_info info;
  InputFile file;
  Logits logits;
  std::vector<int64_t> offsets;

  // config.beams, slots, top_k and mode are the caller's.
  Session make_session(sidbeam_session_config config) const;
  // Reads the rows of a level for requests [first, first + count) into rows [count, columns].
  void read_rows(int64_t first, int64_t count, int64_t level, char* rows) const;
  // Steps a session's slots with one logits row each, which serves all of their beams.
  void step(sidbeam_session* session, const char* rows, int64_t slots, int64_t beams, float inverse_temperature) const;
};

// --widths: most beams that each level keeps; "": M.
void add_widths(Command command, std::string& widths);
// Each 1 .. beams, at most one per level.
std::vector<int32_t> parse_widths(const std::string& text, int32_t beams, int32_t levels);
// --distinct: which items are shown.
void add_distinct(Command command, bool& distinct);
// --cap and --cap-by: how many items of a value are shown.
void add_cap(Command command, Cap& cap);
// "o0,o1,..", one per level; an empty text: all 0.
std::vector<int64_t> parse_offsets(const std::string& text, const sidbeam_index_info& info);
int32_t normalization_of(const std::string& name);  // SIDBEAM_NORMALIZE_*
bool any_active(const sidbeam_session* session);
// The shortest text that reads back as the float, and the double that prints as it.
std::string shortest(float number);
double printable(float number);

}  // namespace cli

#endif
