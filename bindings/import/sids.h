// From what a file has for a SID to codes: tokens, numbers or a string of either. Each level's family is found, or
// given, and every token is held against it.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_SIDS_H
#define SIDBEAM_IMPORT_SIDS_H

#include <string>
#include <string_view>
#include <vector>

#include "batch.h"
#include "options.h"

namespace importer {

// Where the current row is, for messages.
class Where {
 public:
  virtual ~Where() = default;
  // "'items.jsonl':17: item 'B07'"
  virtual std::string place() const = 0;
  // "item 'B07', line 17", without the file.
  virtual std::string row() const = 0;
};

class Sids {
 public:
  // All must outlive it. Where the shape has families these hold; otherwise they are found.
  Sids(const Shape& shape, const Options& options, const Where& where);
  Sids(const Sids&) = delete;
  Sids& operator=(const Sids&) = delete;

  // Where a SID that has been read has its numbers, for a pattern of its record. `parts` are its tokens or numbers, or
  // (whole = false) one text with all of them. False where that cannot be told of others like it.
  bool find_numbers(const std::vector<std::string_view>& parts, bool whole,
                    std::vector<std::string_view>& numbers) const;
  // The next SID, of a record that fits such a pattern, in place of all below: its codes, room for SIDBEAM_MAX_LEVELS,
  // and how many they are. 0: a number is no code of its level, or teaches something, and nothing has happened.
  size_t try_numbers(const int64_t* numbers, size_t count, int32_t* codes);

  // A record's SIDs, one after the other; nothing fails for what a token is before the record is complete, so that
  // messages can name its item. Views are needed until then.
  void number(Batch& batch, int64_t number);
  void token(std::string_view token) { pieces_.push_back({token, true}); }
  void text(std::string_view text) { pieces_.push_back({text, false}); }
  // The current SID is complete. Empty ones are an error.
  void end_sid(Batch& batch);
  // The record is complete; returns its SIDs.
  int32_t end_record(Batch& batch);

  // After the last row of a survey: what has been found.
  void finish(Shape& shape) const;
  // Whether plain numbers look like token ids: every level's are larger than those of the level before.
  bool look_like_token_ids() const;

  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Piece {
    std::string_view text;
    bool whole;  // one token; otherwise a SID in a string
  };
  // A level as far as it has been seen.
  struct Level {
    Family family;
    bool known = false;                 // the family is
    std::vector<std::string> texts;     // otherwise the parts of the first token, where it has several numbers
    std::vector<int64_t> first;         // and these numbers,
    std::vector<std::string> other;     // a token in which each differs, or "",
    std::vector<int64_t> largest_each;  // and their largest
    std::string token, row;             // the first, and where it was
  };
  // A level's numbers and codes. Apart from the level: they are all that most records need.
  struct Range {
    int64_t first = 0, codes = 0;                // the numbers that its codes are
    int64_t smallest = INT64_MAX, largest = -1;  // code that has been seen
  };

  static Level given(const Family& family);
  void prepare_patterns();
  bool find_numbers_of(const std::vector<std::string_view>& tokens, std::vector<std::string_view>& numbers) const;
  size_t try_unknown(const int64_t* numbers, size_t count, int32_t* codes);
  static bool try_parts(Level& level, const int64_t* numbers);
  static bool try_number(Range& range, int64_t number, int32_t* code);
  void read_string(Batch& batch, std::string_view text);
  bool take_numbers(std::string_view text, std::vector<std::string_view>& numbers) const;
  int64_t most_codes() const;
  void read_word(Batch& batch, std::string_view text);
  void check_word(std::string_view text);
  void read_tokens(Batch& batch);
  void check_text(std::string_view token) const;
  void frame();
  void read_token(Batch& batch, std::string_view token);
  void meet(Level& level, std::string_view token);
  void read_parts(Batch& batch, Level& level, std::string_view token);
  int64_t plain_code(std::string_view token, bool* is_number) const;
  void add_code(Batch& batch, int64_t code, bool placeholder = false);
  void close(Batch& batch);
  size_t code_number(const Level& level) const;
  size_t number_of_levels_number() const;
  [[noreturn]] void fail_family(const Level& level, size_t position, std::string_view token) const;
  [[noreturn]] void fail_ambiguous(const Level& level, size_t position, size_t one, size_t other) const;
  [[noreturn]] void fail_long() const;
  Level& level_at(size_t position);

  const Options& options_;
  const Where& where_;
  Shape shape_;
  std::vector<Level> levels_;
  std::vector<Range> ranges_;    // of each of them
  bool families_known_ = false;  // of all levels,
  bool all_known_ = false;       // and begin and end
  bool long_way_ = false;        // the record's SIDs did not come by try_numbers
  bool ranges_known_ = false;    // SIDs may come by try_numbers
  std::vector<Piece> pieces_;
  std::vector<std::string_view> numbers_;
  std::vector<std::string_view> tokens_;
  TokenParts parts_;
  std::string framed_by_;  // the row in which begin and end were found
  int32_t position_ = 0;   // codes of the SID so far
  int32_t first_ = 0;      // codes of the first SID
  int32_t most_;           // codes that a SID may have
  int32_t sids_ = 0;       // of the record
};

}  // namespace importer

#endif
