// The attributes of an opened index. SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "capi/guard.h"
#include "decode/objects.h"
#include "index/attributes/read.h"
#include "sidbeam/index.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

using ll = long long;

const Attribute& attribute_of(const sidbeam_index* index, int64_t i, const char* name) {
  require(index, "index");
  const Attributes& all = index->index.attributes;
  if (i < 0 || static_cast<size_t>(i) >= all.size())
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected less than %zu, the attributes there are", name,
         static_cast<ll>(i), all.size());
  return all[static_cast<size_t>(i)];
}

// Where a row's value is: in the base or, of a row that was added, in the delta.
struct Cell {
  const Attribute& column;
  uint64_t row;
  const uint32_t* codes;  // the numbers of the column's strings; null: as they are

  int64_t code(uint64_t i) const {
    const uint64_t code = column.codes[i];
    return static_cast<int64_t>(codes != nullptr && code < column.dictionary.count ? codes[code] : code);
  }
};

// Rows of an attribute that a call asks for, `first` being the first of them.
struct Rows {
  Rows(const sidbeam_index* of_index, int64_t i, int64_t item_row, int64_t given_count, const void* values)
      : attribute(attribute_of(of_index, i, "attribute")),
        index(*of_index),
        number(static_cast<size_t>(i)),
        first(static_cast<uint64_t>(item_row)),
        count(given_count) {
    const auto items = static_cast<int64_t>(index.row_count());
    if (item_row < 0 || count < 0 || item_row > items || count > items - item_row)
      fail(SIDBEAM_INVALID_ARGUMENT, "item rows %lld and %lld after it, expected rows of 0 to %lld",
           static_cast<ll>(item_row), static_cast<ll>(count), static_cast<ll>(items - 1));
    if (count > 0) require(values, attribute.type == AttributeType::kStringList ? "offsets" : "values");
  }

  void need_type(bool has_it, const char* expected) const {
    if (!has_it)
      fail(SIDBEAM_INVALID_ARGUMENT, "attribute '%.*s' is of type %s, expected %s",
           static_cast<int>(attribute.name.size()), attribute.name.data(), attribute_type_name(attribute.type),
           expected);
  }

  Cell at(int64_t i) const {
    const uint64_t row = first + static_cast<uint64_t>(i);
    if (row < index.index.view.items) return {attribute, row, nullptr};
    return {index.delta()->index.attributes[number], delta_row(index.index.view, row),
            index.version->delta_codes[number].data()};
  }

  // Writes value(cell), or 0 where it is null.
  template <class T, class Value>
  void copy(T* values, uint8_t* valid, const Value& value) const {
    for (int64_t i = 0; i < count; ++i) {
      const Cell cell = at(i);
      const bool null = is_null(cell.column, cell.row);
      values[i] = null ? T{} : value(cell);
      if (valid != nullptr) valid[i] = !null;
    }
  }

  const Attribute& attribute;
  const sidbeam_index& index;
  size_t number;
  uint64_t first;
  int64_t count;
};

// A string of an attribute, of its base or of what came since.
std::string_view string_of(const sidbeam_index& index, size_t attribute, uint64_t code) {
  const Dictionary& base = index.index.attributes[attribute].dictionary;
  if (code < base.count) return base[code];
  return index.delta()
      ->index.attributes[attribute]
      .dictionary[index.version->more_strings[attribute][code - base.count]];
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_index_get_attribute(const sidbeam_index* index, int64_t i, sidbeam_attribute_info* out,
                                           sidbeam_error* err) {
  return guarded(err, [&] {
    attribute_of(index, i, "i");
    check_output(out, "out");
    const AttributeShape& shape = index->index.header.attributes[static_cast<size_t>(i)];
    sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
    info.type = static_cast<int32_t>(shape.type);
    info.name = shape.name.c_str();
    info.nulls = static_cast<int64_t>(shape.nulls);
    info.codes = static_cast<int64_t>(shape.codes);
    info.least = shape.least;
    info.greatest = shape.greatest;
    info.least_number = static_cast<double>(shape.least_number);
    info.greatest_number = static_cast<double>(shape.greatest_number);
    info.distinct = -1;
    if (has_dictionary(shape.type)) info.distinct = static_cast<int64_t>(shape.strings);
    if (shape.type == AttributeType::kBool)
      info.distinct = shape.nulls == index->row_count() ? 0 : shape.least == shape.greatest ? 1 : 2;
    write_struct(info, out);
  });
}

sidbeam_status sidbeam_index_find_attribute(const sidbeam_index* index, const char* name, int64_t* attribute,
                                            sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(name, "name");
    require(attribute, "attribute");
    const Attributes& all = index->index.attributes;
    const Attribute* const found = find_attribute(all, name);
    *attribute = found == nullptr ? -1 : found - all.data();
  });
}

sidbeam_status sidbeam_index_attribute_integers(const sidbeam_index* index, int64_t attribute, int64_t item_row,
                                                int64_t count, int64_t* values, uint8_t* valid, sidbeam_error* err) {
  return guarded(err, [&] {
    const Rows rows(index, attribute, item_row, count, values);
    const Attribute& view = rows.attribute;
    if (view.type == AttributeType::kI64)
      return rows.copy(values, valid, [](const Cell& cell) { return cell.column.integers[cell.row]; });
    if (view.type == AttributeType::kBool)
      return rows.copy(values, valid, [](const Cell& cell) { return int64_t{has_bit(cell.column.bools, cell.row)}; });
    rows.need_type(view.type == AttributeType::kString, "i64, bool or string");
    rows.copy(values, valid, [](const Cell& cell) { return cell.code(cell.row); });
  });
}

sidbeam_status sidbeam_index_attribute_numbers(const sidbeam_index* index, int64_t attribute, int64_t item_row,
                                               int64_t count, float* values, uint8_t* valid, sidbeam_error* err) {
  return guarded(err, [&] {
    const Rows rows(index, attribute, item_row, count, values);
    rows.need_type(rows.attribute.type == AttributeType::kF32, "f32");
    rows.copy(values, valid, [](const Cell& cell) { return cell.column.numbers[cell.row]; });
  });
}

sidbeam_status sidbeam_index_attribute_lists(const sidbeam_index* index, int64_t attribute, int64_t item_row,
                                             int64_t count, int64_t* offsets, int64_t capacity, int64_t* codes,
                                             uint8_t* valid, sidbeam_error* err) {
  return guarded(err, [&] {
    const Rows rows(index, attribute, item_row, count, offsets);
    rows.need_type(rows.attribute.type == AttributeType::kStringList, "string_list");
    require(offsets, "offsets");
    offsets[0] = 0;
    rows.copy(offsets + 1, valid, [](const Cell& cell) {
      const CodeRange range = codes_of(cell.column, cell.row);
      return static_cast<int64_t>(range.end - range.begin);
    });
    // The lists of a damaged index may lie on top of each other; together they have no more codes than there are.
    const auto most = static_cast<int64_t>(index->index.header.attributes[static_cast<size_t>(attribute)].codes);
    for (int64_t i = 0; i < count; ++i) offsets[i + 1] = offsets[i] + std::min(offsets[i + 1], most - offsets[i]);
    if (codes == nullptr) return;
    if (capacity < offsets[count])
      fail(SIDBEAM_INVALID_ARGUMENT, "capacity is %lld, expected at least the %lld codes of these rows",
           static_cast<ll>(capacity), static_cast<ll>(offsets[count]));
    for (int64_t i = 0; i < count; ++i) {
      const Cell cell = rows.at(i);
      const uint64_t begin = codes_of(cell.column, cell.row).begin;
      for (int64_t c = offsets[i]; c < offsets[i + 1]; ++c)
        codes[c] = cell.code(begin + static_cast<uint64_t>(c - offsets[i]));
    }
  });
}

sidbeam_status sidbeam_index_attribute_string(const sidbeam_index* index, int64_t attribute, int64_t code,
                                              const char** text, int64_t* bytes, sidbeam_error* err) {
  return guarded(err, [&] {
    const Attribute& view = attribute_of(index, attribute, "attribute");
    require(text, "text");
    require(bytes, "bytes");
    const auto number = static_cast<size_t>(attribute);
    const uint64_t strings = has_dictionary(view.type) ? index->index.header.attributes[number].strings : 0;
    if (code < 0 || static_cast<uint64_t>(code) >= strings)
      fail(SIDBEAM_INVALID_ARGUMENT, "code is %lld, expected less than %llu, the strings of attribute '%.*s'",
           static_cast<ll>(code), static_cast<unsigned long long>(strings), static_cast<int>(view.name.size()),
           view.name.data());
    const std::string_view string = string_of(*index, number, static_cast<uint64_t>(code));
    *text = string.data();
    *bytes = static_cast<int64_t>(string.size());
  });
}

}  // extern "C"
