// Records are alike: from one that has been read the long way a pattern is made, its text with holes for what may
// differ, and a record that fits needs no parser. Several times as fast as one, which takes the other records, and says
// what is wrong. (A scanner of objects and lists was the alternative: three times as slow, for JSON alone.)
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_PATTERN_H
#define SIDBEAM_IMPORT_PATTERN_H

#include <sidbeam/base.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace importer {

class Pattern {
 public:
  enum class Hole {
    kNumber,      // up to 7 digits
    kItem,        // text that is not empty
    kItemNumber,  // an integer as programs print it, up to 18 digits
    kItemDigits,  // the same without a sign
    kPriority,    // as kItemNumber
    kText,        // text that is nothing
    kValue,       // a string, number, true, false or null of JSON that is nothing
    kEnd,
  };
  // A hole in a record. Text ends at either stop or before a control character; one of them must follow it.
  struct Mark {
    Hole hole;
    std::string_view text;  // in the record
    char stop = '"', other_stop = '\\';
    int32_t number = 0;  // of a SID's numbers, for kNumber
  };
  struct Record {
    std::string_view item;
    int64_t priority;
    int64_t numbers[SIDBEAM_MAX_LEVELS];
    size_t count;
    bool ascii;           // false: text in the holes may have bytes above 0x7f
    bool item_is_digits;  // as kItemDigits; false: it may be
  };

  // Marks in the order of their texts, none in another.
  Pattern(std::string_view record, const std::vector<Mark>& marks);

  // Bytes of the record that begins the text, which is the window of a TextReader, or 0 where it does not fit.
  size_t match(std::string_view text, Record& record) const;

 private:
  // Eight bytes of the text between holes; those outside the mask are not its.
  struct Word {
    uint64_t bytes, mask;
  };
  struct Piece {
    Word first[2];  // of the text before the hole
    int32_t bytes = 0;
    Hole hole = Hole::kEnd;
    int32_t number = 0;
    int32_t more = 0, words = 0;        // in words_, where the first two are not all
    uint64_t stop = 0, other_stop = 0;  // in each byte
  };

  void add_piece(std::string_view text);
  static uint64_t difference(const Word& word, const char* at);
  bool fits_more(const Piece& piece, const char* at) const;
  static const char* read_hole(const Piece& piece, const char* at, Record& record);

  std::vector<Word> words_;
  std::vector<Piece> pieces_;
  size_t count_ = 0;  // of its numbers
  bool item_is_digits_ = false;
};

// Behind the number of JSON that begins here, or nullptr. Eight bytes behind it must be readable.
const char* skip_number(const char* at);

// Those of a file, the last one that fitted first.
class Patterns {
 public:
  size_t match(std::string_view text, Pattern::Record& record) {
    const size_t bytes = patterns_.empty() ? 0 : patterns_[0].match(text, record);
    return bytes > 0 ? bytes : match_others(text, record);
  }
  // Of a record that none of them fits; no pattern comes of one without an item, or with a text that is two things.
  void learn(std::string_view record, std::vector<Pattern::Mark> marks);

 private:
  size_t match_others(std::string_view text, Pattern::Record& record);

  static constexpr size_t kMost = 8;
  std::vector<Pattern> patterns_;
};

}  // namespace importer

#endif
