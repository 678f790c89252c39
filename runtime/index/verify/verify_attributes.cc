// SPDX-License-Identifier: Apache-2.0
#include "index/verify/verify_attributes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "index/attributes/digest.h"
#include "index/attributes/read.h"
#include "index/header.h"
#include "support/error.h"
#include "support/parallel.h"
#include "support/utf8.h"

namespace sidbeam {
namespace {

using ull = unsigned long long;

// One attribute, with what its header says.
struct Checked {
  const Attribute& view;
  const AttributeShape& shape;
  uint64_t items;

  const char* name() const { return shape.name.c_str(); }

  // Bits after the last row are zero.
  void check_rest(const uint64_t* words, const char* what) const {
    if (items % 64 != 0 && words[items / 64] >> items % 64 != 0)
      fail(SIDBEAM_CORRUPT, "attribute '%s' has %s beyond the last row, %llu", name(), what,
           static_cast<ull>(items - 1));
  }

  void check_nulls() const {
    if (view.valid == nullptr) return;
    check_rest(view.valid, "values");
    uint64_t values = 0;
    for (uint64_t w = 0; w < divide_up(items, 64); ++w) values += static_cast<uint64_t>(std::popcount(view.valid[w]));
    if (values != items - shape.nulls)
      fail(SIDBEAM_CORRUPT, "attribute '%s' has %llu values, the header says %llu", name(), static_cast<ull>(values),
           static_cast<ull>(items - shape.nulls));
  }

  // What is written in the place of a null.
  void need_zero(uint64_t row, bool zero) const {
    if (!zero) fail(SIDBEAM_CORRUPT, "attribute '%s': row %llu is null and not 0", name(), static_cast<ull>(row));
  }

  // value(row) gives a number.
  template <class T, class Value>
  void check_range(T least, T greatest, const Value& value) const {
    T low = 0, high = 0;
    bool first = true;
    for (uint64_t row = 0; row < items; ++row) {
      const T v = value(row);
      if constexpr (std::is_floating_point_v<T>) {
        if (std::isnan(v)) fail(SIDBEAM_CORRUPT, "attribute '%s': row %llu is NaN", name(), static_cast<ull>(row));
      }
      if (is_null(view, row)) {
        need_zero(row, v == 0);
        continue;
      }
      low = first ? v : std::min(low, v);
      high = first ? v : std::max(high, v);
      first = false;
    }
    if (low != least || high != greatest)
      fail(SIDBEAM_CORRUPT, "attribute '%s' has values from %.17g to %.17g, the header says %.17g to %.17g", name(),
           static_cast<double>(low), static_cast<double>(high), static_cast<double>(least),
           static_cast<double>(greatest));
  }

  void check_dictionary() const {
    const Dictionary& dictionary = view.dictionary;
    for (uint64_t i = 0; i <= dictionary.count; ++i) {
      const uint64_t offset = dictionary.offsets[i], before = i == 0 ? 0 : dictionary.offsets[i - 1];
      const bool ends = i == 0 ? offset != 0 : i == dictionary.count && offset != dictionary.bytes;
      if (offset < before || offset > dictionary.bytes || ends)
        fail(SIDBEAM_CORRUPT, "attribute '%s': entry %llu of the dictionary begins at %llu, expected %llu to %llu",
             name(), static_cast<ull>(i), static_cast<ull>(offset), static_cast<ull>(i == 0 ? 0 : before),
             static_cast<ull>(i == 0 ? 0 : dictionary.bytes));
    }
    if (dictionary.count == 0 && dictionary.bytes != 0)
      fail(SIDBEAM_CORRUPT, "attribute '%s' has an empty dictionary with %llu bytes", name(),
           static_cast<ull>(dictionary.bytes));
    for (uint64_t i = 0; i < dictionary.count; ++i) {
      const std::string_view text = dictionary[i];
      if (!is_utf8(text))
        fail(SIDBEAM_CORRUPT, "attribute '%s': entry %llu of the dictionary is not valid UTF-8", name(),
             static_cast<ull>(i));
      if (i > 0 && dictionary[i - 1] >= text)
        fail(SIDBEAM_CORRUPT, "attribute '%s': entry %llu of the dictionary is not above the one before", name(),
             static_cast<ull>(i));
    }
  }

  void check_code(uint64_t row, uint64_t code, std::vector<uint64_t>& used) const {
    if (code >= view.dictionary.count)
      fail(SIDBEAM_CORRUPT, "attribute '%s': row %llu has code %llu, expected less than %llu", name(),
           static_cast<ull>(row), static_cast<ull>(code), static_cast<ull>(view.dictionary.count));
    used[code / 64] |= uint64_t{1} << code % 64;
  }

  void check_strings(std::vector<uint64_t>& used) const {
    for (uint64_t row = 0; row < items; ++row) {
      if (is_null(view, row))
        need_zero(row, view.codes[row] == 0);
      else
        check_code(row, view.codes[row], used);
    }
  }

  void check_lists(std::vector<uint64_t>& used) const {
    std::vector<uint64_t> row_of(view.dictionary.count);  // 1 + the last row with this string
    for (uint64_t row = 0; row < items; ++row) {
      const uint64_t begin = view.offsets[row], end = view.offsets[row + 1];
      if (begin > end || end > view.code_count || (row == 0 && begin != 0))
        fail(SIDBEAM_CORRUPT, "attribute '%s': the list of row %llu is codes %llu to %llu of %llu", name(),
             static_cast<ull>(row), static_cast<ull>(begin), static_cast<ull>(end), static_cast<ull>(view.code_count));
      if (is_null(view, row)) need_zero(row, begin == end);
      for (uint64_t i = begin; i < end; ++i) {
        const uint64_t code = view.codes[i];
        check_code(row, code, used);
        if (row_of[code] == row + 1)
          fail(SIDBEAM_CORRUPT, "attribute '%s': row %llu has code %llu twice", name(), static_cast<ull>(row),
               static_cast<ull>(code));
        row_of[code] = row + 1;
      }
    }
    if (view.offsets[items] != view.code_count)
      fail(SIDBEAM_CORRUPT, "attribute '%s' has lists of %llu codes, the header says %llu", name(),
           static_cast<ull>(view.offsets[items]), static_cast<ull>(view.code_count));
  }

  void check_codes() const {
    check_dictionary();
    std::vector<uint64_t> used(divide_up(view.dictionary.count, 64));
    view.type == AttributeType::kString ? check_strings(used) : check_lists(used);
    for (uint64_t i = 0; i < view.dictionary.count; ++i)
      if (!has_bit(used.data(), i))
        fail(SIDBEAM_CORRUPT, "attribute '%s': no row has entry %llu of the dictionary", name(), static_cast<ull>(i));
  }

  void check() const {
    check_nulls();
    switch (view.type) {
      case AttributeType::kI64:
        return check_range(shape.least, shape.greatest, [&](uint64_t row) { return view.integers[row]; });
      case AttributeType::kF32:
        return check_range(shape.least_number, shape.greatest_number, [&](uint64_t row) { return view.numbers[row]; });
      case AttributeType::kBool:
        check_rest(view.bools, "true values");
        return check_range(shape.least, shape.greatest,
                           [&](uint64_t row) { return int64_t{has_bit(view.bools, row)}; });
      default:
        return check_codes();
    }
  }
};

void check_digest(const Index& index, const SectionSums& sums) {
  std::vector<Hash128> sections;
  for (size_t i = 0; i < index.header.sections.size(); ++i) sections.push_back(sums.digest(i));
  const Hash128 found = attribute_digest(index.header.attributes, index.view.items, sections);
  char text[33];
  print_hash(found, text);
  if (std::strcmp(text, index.header.info.attribute_digest) != 0)
    fail(SIDBEAM_CORRUPT, "the attributes have the digest %s, the header says %s", text,
         index.header.info.attribute_digest);
}

}  // namespace

void verify_attributes(const Index& index, const SectionSums& sums, int threads) {
  if (index.attributes.empty()) return;
  parallel_for(threads, static_cast<int64_t>(index.attributes.size()), [&](int64_t i) {
    const auto attribute = static_cast<size_t>(i);
    Checked{index.attributes[attribute], index.header.attributes[attribute], index.view.items}.check();
  });
  check_digest(index, sums);
}

}  // namespace sidbeam
