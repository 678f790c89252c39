// SPDX-License-Identifier: Apache-2.0
#include "item_values.h"

#include "library.h"

namespace differential {

const char* const kAttributeNames[kAttributes] = {"number", "flag", "word", "words"};

namespace {

constexpr int32_t kTypes[kAttributes] = {SIDBEAM_ATTRIBUTE_I64, SIDBEAM_ATTRIBUTE_BOOL, SIDBEAM_ATTRIBUTE_STRING,
                                         SIDBEAM_ATTRIBUTE_STRING_LIST};

struct Drawn {
  bool null = false;
  std::vector<int64_t> values;  // one, or a list's
};

Drawn draw_value(const Case& c, size_t attribute, const oracle::Sid& sid, int64_t id) {
  uint64_t hash = mix(static_cast<uint64_t>(c.seed), kDrawAttributes, attribute, id);
  for (int code : sid) hash = mix(hash, static_cast<uint64_t>(code));  // identical pairs agree
  Drawn drawn;
  drawn.null = hash % 5 == 0;
  const auto number = static_cast<int64_t>(hash / 5 % 4);
  if (attribute == 3) {
    for (int64_t i = 0; i < 4; ++i)
      if ((hash / 20 >> i & 1) != 0) drawn.values.push_back((number + i) % 4);
  } else {
    drawn.values.push_back(attribute == 1 ? number % 2 : number);
  }
  return drawn;
}

// As the index has the number: far apart, of either sign.
int64_t stored(int64_t number) { return (number - 2) * (int64_t{1} << 40); }

}  // namespace

std::vector<std::vector<int64_t>> values_by_row(const Case& c, size_t attribute, const oracle::Catalogue& catalogue) {
  std::vector<std::vector<int64_t>> values;
  for (size_t ordinal = 0; ordinal < catalogue.sids.size(); ++ordinal) {
    for (int64_t id : catalogue.items[ordinal]) {
      const Drawn drawn = draw_value(c, attribute, catalogue.sids[ordinal], id);
      values.push_back(drawn.null ? std::vector<int64_t>() : drawn.values);
    }
  }
  return values;
}

void declare_attributes(sidbeam_builder* builder) {
  for (size_t k = 0; k < kAttributes; ++k)
    call("sidbeam_builder_declare_attribute", sidbeam_builder_declare_attribute, builder, kAttributeNames[k],
         kTypes[k]);
}

AttributeValues::AttributeValues(const Case& c, size_t attribute, const std::vector<oracle::Pair>& pairs, size_t from,
                                 size_t to) {
  for (size_t i = from; i < to; ++i) {
    const Drawn drawn = draw_value(c, attribute, pairs[i].sid, pairs[i].id);
    valid.push_back(drawn.null ? 0 : 1);
    integers.push_back(drawn.values.empty() ? 0 : stored(drawn.values[0]));
    bools.push_back(!drawn.values.empty() && drawn.values[0] != 0 ? 1 : 0);
    for (int64_t value : drawn.values) {
      text += std::string(static_cast<size_t>(value), 'a');  // the first is empty
      offsets.push_back(static_cast<int64_t>(text.size()));
    }
    lists.push_back(static_cast<int64_t>(offsets.size()) - 1);
  }
  column.name = kAttributeNames[attribute];
  column.valid = valid.data();
  if (attribute == 0) column.integers = integers.data();
  if (attribute == 1) column.bools = bools.data();
  if (attribute >= 2) {
    column.text = text.c_str();
    column.offsets = offsets.data();
  }
  if (attribute == 3) column.lists = lists.data();
}

void set_attributes(sidbeam_builder* builder, const Case& c, const std::vector<oracle::Pair>& pairs, size_t from,
                    size_t to) {
  for (size_t k = 0; k < kAttributes; ++k) {
    const AttributeValues values(c, k, pairs, from, to);
    call("sidbeam_builder_set_attribute", sidbeam_builder_set_attribute, builder, &values.column,
         static_cast<int64_t>(to - from));
  }
}

}  // namespace differential
