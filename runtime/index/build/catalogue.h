// The input of a builder in order of arrival: SIDs packed into words, ids and priorities.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "index/build/attributes.h"
#include "index/build/chunked_array.h"
#include "index/build/strings.h"
#include "index/views.h"
#include "sidbeam/builder.h"

namespace sidbeam {

// The place of each level's code in a key of 64-bit words. Level 0 takes the highest bits of word 0 and no code
// straddles words, so comparing keys word by word compares the SIDs.
struct KeyLayout {
  struct Place {
    uint8_t word = 0, shift = 0, bits = 0;
  };
  int levels = 0, words = 0;
  bool variable_length = false;
  uint32_t codes[kMaxLevels] = {};
  Place place[kMaxLevels];
  int word_bits[kMaxLevels] = {};             // bits in use, counted from the lowest
  uint8_t level_of_bit[kMaxLevels][64] = {};  // [word][bit]

  KeyLayout(int levels, const int32_t* codes, bool variable_length);
  uint32_t code(int level, uint64_t word) const {
    return static_cast<uint32_t>(word >> place[level].shift & ((uint64_t{1} << place[level].bits) - 1));
  }
  // The first level at which two keys differ, given the first of their words that differ.
  int first_difference(int word, uint64_t a, uint64_t b) const {
    return level_of_bit[word][63 - std::countl_zero(a ^ b)];
  }
};

// Throws INVALID_ARGUMENT if the configuration is invalid.
void check_config(const sidbeam_builder_config& config);

struct Catalogue {
  Catalogue(const sidbeam_builder_config& config, const Allocator& allocator);

  // The arguments of one call of add, which adds all pairs or throws and adds none.
  struct Pairs {
    const int32_t* codes = nullptr;
    const int32_t* lengths = nullptr;
    int64_t count = 0;
    const int64_t* ids = nullptr;
    const char* id_bytes = nullptr;
    const int64_t* id_offsets = nullptr;
    const int64_t* priorities = nullptr;
    // Instead of codes and lengths, ids, and priorities, of other layouts: each writes pairs [begin, begin + count) of
    // the call, on the building threads. The first returns whether all have `levels` codes, and otherwise has written
    // their lengths; what is no code it writes as -1.
    std::function<bool(int64_t begin, int64_t count, int32_t* codes, int32_t* lengths)> read_codes;
    std::function<void(int64_t begin, int64_t count, int64_t*out)> read_ids, read_priorities;
    const std::string_view* names = nullptr;  // [count], instead of id_bytes and id_offsets

    bool has_ids() const { return ids != nullptr || read_ids; }
    bool has_names() const { return id_offsets != nullptr || names != nullptr; }
    bool has_priorities() const { return priorities != nullptr || read_priorities; }
  };
  void add(const Pairs& pairs, int threads);

  // What was added since a mark can be taken back.
  struct Mark {
    int64_t rows;
    bool has_ids, has_priorities;
    TextRoom::Mark name_text;
  };
  Mark mark() const { return {rows, has_ids, has_priorities, name_text.mark()}; }
  void rewind(const Mark& to);
  // Puts what row `from` is, without its attributes, into row `to` before it.
  void move_row(int64_t from, int64_t to);
  // Copies the names of the rows from `first` on to where a mark was, and gives back the room of all that came since.
  void gather_names(int64_t first, const TextRoom::Mark& to);
  // Writes the codes of a row to codes [levels]; returns their number.
  int sid_of(int64_t row, int32_t* codes) const;

  // Frees the keys, which are redundant after the sort.
  void release_words() { words.clear(); }

  int64_t id(int64_t row) const { return has_ids ? ids[row] : row; }
  int64_t priority(int64_t row) const { return has_priorities ? priorities[row] : 0; }
  int64_t bytes() const;

  Allocator allocator;
  KeyLayout layout;
  IdType id_type;
  int64_t rows = 0;
  bool has_ids = false;                       // the pairs came with integer ids
  bool has_priorities = false;                // some priority may be other than 0
  bool gave_priorities = false;               // the last pairs came with priorities
  std::vector<ChunkedArray<uint64_t>> words;  // one array per word of the key
  ChunkedArray<int64_t> ids;
  ChunkedArray<std::string_view> names;  // views into name_text
  TextRoom name_text;
  ChunkedArray<int64_t> priorities;
  int64_t last_added = 0;  // the first row of the last call of the caller's
  AttributeColumns attributes;

 private:
  void check_ids(const Pairs& pairs) const;
  void reserve(const Pairs& pairs);
  bool pack_word(const int32_t* codes, int64_t count, int word, uint64_t* out) const;
  void pack_row(const Pairs& pairs, int64_t i, int64_t row);
  void pack(const Pairs& pairs, int64_t begin, int64_t end, int64_t first);
  void pack_read(const Pairs& pairs, int64_t begin, int64_t end);
  void copy_names(const Pairs& pairs);
  void copy_scattered_names(const Pairs& pairs);
};

}  // namespace sidbeam
