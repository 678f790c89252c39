// SPDX-License-Identifier: Apache-2.0
#include "index/live/attribute_values.h"

#include <bit>

#include "index/attributes/read.h"

namespace sidbeam {

bool equals(const AttributeColumn& column, int64_t pair, const Attribute& base, uint64_t row) {
  if (column.is_null(pair) || is_null(base, row)) return column.is_null(pair) && is_null(base, row);
  switch (column.type) {
    case AttributeType::kI64:
      return column.integer(pair) == base.integers[row];
    case AttributeType::kF32:
      return std::bit_cast<uint32_t>(column.number(pair)) == std::bit_cast<uint32_t>(base.numbers[row]);
    case AttributeType::kBool:
      return column.truth(pair) == has_bit(base.bools, row);
    case AttributeType::kString:
      return column.strings[column.string(pair)] == base.dictionary[base.codes[row]];
    case AttributeType::kStringList:
      break;
  }
  const CodeRange codes = codes_of(base, row);
  if (column.list_size(pair) != static_cast<int64_t>(codes.end - codes.begin)) return false;
  for (uint64_t i = codes.begin; i < codes.end; ++i)
    if (column.strings[column.list_string(pair, static_cast<int64_t>(i - codes.begin))] !=
        base.dictionary[base.codes[i]])
      return false;
  return true;
}

void CopiedValues::add_null() {
  valid_.push_back(0);
  bools_.push_back(0);
  integers_.push_back(0);
  numbers_.push_back(0.0F);
  if (column_.type == AttributeType::kString) strings_.emplace_back();
  lists_.push_back(static_cast<int64_t>(strings_.size()));
}

void CopiedValues::add_base(uint64_t row) {
  switch (column_.type) {
    case AttributeType::kI64:
      integers_.back() = base_->integers[row];
      return;
    case AttributeType::kF32:
      numbers_.back() = base_->numbers[row];
      return;
    case AttributeType::kBool:
      bools_.back() = has_bit(base_->bools, row) ? 1 : 0;
      return;
    case AttributeType::kString:
      strings_.back() = base_->dictionary[base_->codes[row]];
      return;
    case AttributeType::kStringList: {
      const CodeRange codes = codes_of(*base_, row);
      for (uint64_t i = codes.begin; i < codes.end; ++i) strings_.push_back(base_->dictionary[base_->codes[i]]);
    }
  }
}

void CopiedValues::add_pair(int64_t pair) {
  switch (column_.type) {
    case AttributeType::kI64:
      integers_.back() = column_.integer(pair);
      return;
    case AttributeType::kF32:
      numbers_.back() = column_.number(pair);
      return;
    case AttributeType::kBool:
      bools_.back() = column_.truth(pair) ? 1 : 0;
      return;
    case AttributeType::kString:
      strings_.back() = column_.strings[column_.string(pair)];
      return;
    case AttributeType::kStringList:
      for (int64_t i = 0; i < column_.list_size(pair); ++i)
        strings_.push_back(column_.strings[column_.list_string(pair, i)]);
  }
}

void CopiedValues::add(uint64_t row) {
  add_null();
  const bool of_base = row < items_;
  if (of_base ? is_null(*base_, row) : column_.is_null(static_cast<int64_t>(row - items_))) return;
  valid_.back() = 1;
  of_base ? add_base(row) : add_pair(static_cast<int64_t>(row - items_));
  lists_.back() = static_cast<int64_t>(strings_.size());
}

void CopiedValues::set(AttributeColumn& column, int64_t first) const {
  AttributeValues values;
  values.count = static_cast<int64_t>(valid_.size());
  values.valid = valid_.data();
  values.integers = integers_.data();
  values.numbers = numbers_.data();
  values.bools = bools_.data();
  values.strings = strings_.data();
  values.string_count = static_cast<int64_t>(strings_.size());
  values.lists = column.type == AttributeType::kStringList ? lists_.data() : nullptr;
  column.set(values, first);
}

int64_t CopiedValues::text_bytes() const {
  int64_t bytes = 0;
  for (const std::string_view string : strings_) bytes += std::ssize(string) + int64_t{8};
  return bytes;
}

sidbeam_attribute_column CopiedValues::arrays() {
  sidbeam_attribute_column out = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  out.name = column_.name.c_str();
  out.valid = valid_.data();
  switch (column_.type) {
    case AttributeType::kI64:
      out.integers = integers_.data();
      return out;
    case AttributeType::kF32:
      out.numbers = numbers_.data();
      return out;
    case AttributeType::kBool:
      out.bools = bools_.data();
      return out;
    case AttributeType::kStringList:
      out.lists = lists_.data();
      break;
    case AttributeType::kString:
      break;
  }
  offsets_.assign(1, 0);
  text_.clear();
  for (const std::string_view string : strings_) {
    text_ += string;
    offsets_.push_back(std::ssize(text_));
  }
  out.text = text_.data();
  out.offsets = offsets_.data();
  return out;
}

}  // namespace sidbeam
