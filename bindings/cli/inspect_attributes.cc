// The attributes of an index: their ranges, and their commonest values.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>

#include "inspect.h"

namespace cli {
namespace {

constexpr int64_t kAtOnce = 1 << 16;  // rows
constexpr size_t kShown = 5;

// How many items have each code of the attribute, or each truth value.
std::vector<int64_t> count_codes(const sidbeam_index* index, int64_t attribute, const sidbeam_attribute_info& info,
                                 int64_t items) {
  std::vector<int64_t> counts(static_cast<size_t>(std::max<int64_t>(info.distinct, 2)));
  std::vector<int64_t> values(kAtOnce), offsets(kAtOnce + 1);
  std::vector<uint8_t> valid(kAtOnce);
  for (int64_t first = 0; first < items; first += kAtOnce) {
    const int64_t rows = std::min(kAtOnce, items - first);
    int64_t count = rows;
    if (info.type == SIDBEAM_ATTRIBUTE_STRING_LIST) {
      const auto read = [&](int64_t capacity, int64_t* codes) {
        call(sidbeam_index_attribute_lists, index, attribute, first, rows, offsets.data(), capacity, codes,
             static_cast<uint8_t*>(nullptr));
      };
      read(0, nullptr);
      count = offsets[static_cast<size_t>(rows)];
      if (std::ssize(values) < count) values.resize(static_cast<size_t>(count));
      read(count, values.data());
    } else {
      call(sidbeam_index_attribute_integers, index, attribute, first, rows, values.data(), valid.data());
    }
    for (int64_t i = 0; i < count; ++i) {
      const auto at = static_cast<size_t>(i);
      const bool known = info.type == SIDBEAM_ATTRIBUTE_STRING_LIST || valid[at] != 0;
      // In a damaged index a code may be of no string.
      if (known && values[at] >= 0 && values[at] < std::ssize(counts)) ++counts[static_cast<size_t>(values[at])];
    }
  }
  return counts;
}

std::string name_of(const sidbeam_index* index, int64_t attribute, const sidbeam_attribute_info& info, int64_t code) {
  if (info.type == SIDBEAM_ATTRIBUTE_BOOL) return code != 0 ? "true" : "false";
  const char* text = nullptr;
  int64_t bytes = 0;
  call(sidbeam_index_attribute_string, index, attribute, code, &text, &bytes);
  return {text, static_cast<size_t>(bytes)};
}

std::string shortest(double number) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

}  // namespace

const char* InspectedAttribute::type() const { return kAttributeTypes[info.type]; }

std::vector<InspectedAttribute> inspect_attributes(const sidbeam_index* index, const sidbeam_index_info& header) {
  std::vector<InspectedAttribute> all;
  for (int64_t i = 0; i < header.attribute_count; ++i) {
    InspectedAttribute& attribute = all.emplace_back();
    call(sidbeam_index_get_attribute, index, i, &attribute.info);
    attribute.has_values = attribute.info.nulls < header.items;
    if (attribute.has_range() || !attribute.has_values) continue;
    const std::vector<int64_t> counts = count_codes(index, i, attribute.info, header.items);
    std::vector<int64_t> order;
    for (int64_t code = 0; code < std::ssize(counts); ++code)
      if (counts[static_cast<size_t>(code)] > 0) order.push_back(code);
    const auto shown = order.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, order.size()));
    std::partial_sort(order.begin(), shown, order.end(), [&](int64_t a, int64_t b) {
      const int64_t x = counts[static_cast<size_t>(a)], y = counts[static_cast<size_t>(b)];
      return x != y ? x > y : a < b;
    });
    for (auto code = order.begin(); code != shown; ++code)
      attribute.commonest.emplace_back(name_of(index, i, attribute.info, *code), counts[static_cast<size_t>(*code)]);
  }
  return all;
}

Json InspectedAttribute::json() const {
  const bool integers = info.type == SIDBEAM_ATTRIBUTE_I64, numbers = info.type == SIDBEAM_ATTRIBUTE_F32;
  std::vector<Json> values;
  for (const auto& [value, items] : commonest) values.push_back({{"value", value}, {"items", items}});
  const Json none(nullptr);
  const auto range = [&](int64_t integer, double number) {
    return !has_values ? none : integers ? Json(integer) : numbers ? Json(number) : none;
  };
  return {{"name", info.name},
          {"type", type()},
          {"nulls", info.nulls},
          {"distinct", info.distinct < 0 ? none : Json(info.distinct)},
          {"least", range(info.least, info.least_number)},
          {"greatest", range(info.greatest, info.greatest_number)},
          {"commonest", values}};
}

std::string InspectedAttribute::values() const {
  if (!has_values) return "";
  if (info.type == SIDBEAM_ATTRIBUTE_I64) return with_commas(info.least) + " .. " + with_commas(info.greatest);
  if (info.type == SIDBEAM_ATTRIBUTE_F32) return shortest(info.least_number) + " .. " + shortest(info.greatest_number);
  std::string text;
  for (const auto& [value, items] : commonest)
    text += (text.empty() ? "" : ", ") + value.substr(0, 40) + " (" + with_commas(items) + ")";
  return text + (info.distinct > std::ssize(commonest) ? ", ..." : "");
}

}  // namespace cli
