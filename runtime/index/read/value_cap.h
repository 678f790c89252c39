// The cap of a list of items: at most so many rows per value of an attribute. Safe on damaged contents.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "index/attributes/columns.h"
#include "index/attributes/read.h"
#include "index/overlay.h"
#include "support/hashing.h"
#include "support/memory.h"

namespace sidbeam {

// A number per value, 0 at first: a hash table that grows with the values that it is given, and is used again.
class ValueCounts {
 public:
  ValueCounts() = default;
  explicit ValueCounts(const Allocator& allocator) : allocator_(allocator) {}
  // At a cost that does not depend on what there was.
  void clear() {
    ++round_;
    used_ = 0;
  }
  int64_t of(int64_t value) const {
    if (places_.size() == 0) return 0;
    const Place& place = places_[place_of(value)];
    return place.round == round_ ? place.count : 0;
  }
  // Takes no memory where there is room for as many values. Both may throw OUT_OF_MEMORY.
  void add_one(int64_t value);
  void reserve(int64_t values);
  int64_t bytes() const { return places_.bytes(); }

 private:
  struct Place {
    int64_t value, count;
    uint64_t round;  // empty unless it is the present one
  };

  // Where the value is, or where it would be put.
  int64_t place_of(int64_t value) const {
    const auto last = static_cast<uint64_t>(places_.size()) - 1;
    uint64_t at = mix_key(mix_, static_cast<uint64_t>(value)) & last;
    while (places_[static_cast<int64_t>(at)].round == round_ && places_[static_cast<int64_t>(at)].value != value)
      at = (at + 1) & last;
    return static_cast<int64_t>(at);
  }
  void resize(int64_t places);

  Allocator allocator_;
  Buffer<Place> places_;  // a power of two, or none yet
  KeyMix mix_;            // secret, so that nobody can choose values that crowd
  int64_t used_ = 0;
  uint64_t round_ = 1;
};

// The arguments of a cap, as in the ABI.
struct CapRequest {
  const char* attribute = nullptr;
  int64_t most = 0;
};
// Throws where they do not go together.
void check_cap(const CapRequest& request);
// The attribute of a cap. Throws where it is not there, or of a type that has no values to count; `what` comes before
// its name.
const Attribute& capped_attribute(const Attributes& attributes, const CapRequest& request, const char* what);

// The attribute of a cap: that of an index or, of a snapshot, that of its base and of its delta, whose strings have
// other numbers.
struct CappedColumn {
  const Attribute* attribute = nullptr;
  const Attribute* of_delta = nullptr;
  const uint32_t* delta_codes = nullptr;  // [of_delta->dictionary.count] numbers in both: the base's, then others
  const IndexView* index = nullptr;       // of the snapshot
};

class ValueCap {
 public:
  ValueCap(const CappedColumn& column, int64_t most, ValueCounts& counts)
      : column_(column), most_(most), counts_(counts) {}
  // Another list begins.
  void begin() { counts_.clear(); }
  // Takes the memory that lists of at most `limit` rows (0: any number) need, if few values can come. false: how much
  // that is shows when a list is made, which may then fail; the same list once more takes none.
  bool reserve(int64_t limit);
  // Whether one of the row's values has as many listed rows as it may.
  bool leaves_out(uint64_t row) const {
    bool full = false;
    each_value(row, [&](int64_t value) { full = full || counts_.of(value) >= most_; });
    return full;
  }
  void list(uint64_t row) {
    each_value(row, [&](int64_t value) { counts_.add_one(value); });
  }

 private:
  // Strings by their numbers in the dictionary, which names each once, as a list does.
  template <class Visit>
  void each_value(uint64_t row, const Visit& visit) const {
    if (column_.of_delta == nullptr || row < column_.index->items)
      return each_value(
          *column_.attribute, row, [](uint64_t code) { return code; }, visit);
    each_value(
        *column_.of_delta, delta_row(*column_.index, row), [&](uint64_t code) { return column_.delta_codes[code]; },
        visit);
  }
  template <class Code, class Visit>
  static void each_value(const Attribute& attribute, uint64_t row, const Code& code, const Visit& visit) {
    if (is_null(attribute, row)) return;
    switch (attribute.type) {
      case AttributeType::kI64:
        return visit(attribute.integers[row]);
      case AttributeType::kBool:
        return visit(has_bit(attribute.bools, row) ? 1 : 0);
      case AttributeType::kString:
        return visit(static_cast<int64_t>(code(attribute.codes[row])));
      case AttributeType::kStringList: {
        const CodeRange codes = codes_of(attribute, row);
        for (uint64_t i = codes.begin; i < codes.end; ++i) visit(static_cast<int64_t>(code(attribute.codes[i])));
        return;
      }
      case AttributeType::kF32:  // capped_attribute() takes none
        return;
    }
  }

  CappedColumn column_;
  int64_t most_;
  ValueCounts& counts_;
};

}  // namespace sidbeam
