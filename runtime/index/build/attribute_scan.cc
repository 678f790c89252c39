// SPDX-License-Identifier: Apache-2.0
#include "index/build/attribute_scan.h"

#include <algorithm>

#include "support/parallel.h"

namespace sidbeam {
namespace {

// Calls visit(row) for every item that has a value; counts the others.
template <class Visit>
void each_value(const AttributeColumn& column, const SortedCatalogue& sorted, AttributeShape& shape, Visit&& visit) {
  for (int64_t item = 0; item < sorted.items; ++item) {
    const auto row = static_cast<int64_t>(sorted.rows[item]);
    if (column.is_null(row)) {
      ++shape.nulls;
    } else {
      visit(row);
    }
  }
}

template <class T, class Value>
void measure(const AttributeColumn& column, const SortedCatalogue& sorted, AttributeShape& shape, T& least, T& greatest,
             const Value& value) {
  bool first = true;
  each_value(column, sorted, shape, [&](int64_t row) {
    const T v = value(row);
    least = first ? v : std::min(least, v);
    greatest = first ? v : std::max(greatest, v);
    first = false;
  });
}

// Marks the strings that items have, with 0 in `numbers`.
void mark_strings(const AttributeColumn& column, const SortedCatalogue& sorted, AttributeScan& out) {
  each_value(column, sorted, out.shape, [&](int64_t row) {
    if (column.type == AttributeType::kString) {
      out.numbers[column.string(row)] = 0;
      return;
    }
    const int64_t size = column.list_size(row);
    for (int64_t i = 0; i < size; ++i) out.numbers[column.list_string(row, i)] = 0;
    out.shape.codes += static_cast<uint64_t>(size);
  });
}

void scan_strings(const AttributeColumn& column, const SortedCatalogue& sorted, const Allocator& allocator,
                  AttributeScan& out) {
  const int64_t all = column.strings.count();
  out.numbers = Buffer<uint32_t>(allocator, all);
  std::fill(out.numbers.begin(), out.numbers.end(), ~uint32_t{0});
  mark_strings(column, sorted, out);
  out.shape.strings = static_cast<uint64_t>(std::count(out.numbers.begin(), out.numbers.end(), 0u));
  out.dictionary = Buffer<uint32_t>(allocator, static_cast<int64_t>(out.shape.strings));
  for (int64_t i = 0, end = 0; i < all; ++i)
    if (out.numbers[i] == 0) out.dictionary[end++] = static_cast<uint32_t>(i);
  std::sort(out.dictionary.begin(), out.dictionary.end(),
            [&](uint32_t a, uint32_t b) { return column.strings[a] < column.strings[b]; });
  for (int64_t i = 0; i < out.dictionary.size(); ++i) {
    out.numbers[out.dictionary[i]] = static_cast<uint32_t>(i);
    out.shape.text_bytes += column.strings[out.dictionary[i]].size();
  }
}

AttributeScan scan(const AttributeColumn& column, const SortedCatalogue& sorted, const Allocator& allocator) {
  AttributeScan out;
  AttributeShape& shape = out.shape;
  shape.name = column.name;
  shape.type = column.type;
  switch (column.type) {
    case AttributeType::kI64:
      measure(column, sorted, shape, shape.least, shape.greatest, [&](int64_t row) { return column.integer(row); });
      break;
    case AttributeType::kF32:
      measure(column, sorted, shape, shape.least_number, shape.greatest_number,
              [&](int64_t row) { return column.number(row); });
      break;
    case AttributeType::kBool:
      measure(column, sorted, shape, shape.least, shape.greatest,
              [&](int64_t row) { return int64_t{column.truth(row)}; });
      break;
    default:
      scan_strings(column, sorted, allocator, out);
  }
  return out;
}

}  // namespace

std::vector<AttributeScan> scan_attributes(const Catalogue& catalogue, const SortedCatalogue& sorted, int threads) {
  const std::vector<AttributeColumn>& columns = catalogue.attributes.all();
  std::vector<AttributeScan> out(columns.size());
  parallel_for(threads, static_cast<int64_t>(columns.size()), [&](int64_t i) {
    out[static_cast<size_t>(i)] = scan(columns[static_cast<size_t>(i)], sorted, catalogue.allocator);
  });
  return out;
}

}  // namespace sidbeam
