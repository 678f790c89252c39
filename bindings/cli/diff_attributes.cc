// Attributes that two indexes have in common, item by item.
// SPDX-License-Identifier: Apache-2.0
#include "diff.h"
#include "search_input.h"

namespace cli {
namespace {

sidbeam_attribute_info attribute_info(const sidbeam_index* index, int64_t attribute) {
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  call(sidbeam_index_get_attribute, index, attribute, &info);
  return info;
}

int64_t find_attribute(const sidbeam_index* index, const char* name) {
  int64_t attribute = -1;
  call(sidbeam_index_find_attribute, index, name, &attribute);
  return attribute;
}

// The attributes of an index that another has not.
std::vector<std::string> missing(const sidbeam_index* index, const sidbeam_index* other) {
  std::vector<std::string> names;
  const int64_t count = index_info(index).attribute_count;
  for (int64_t i = 0; i < count; ++i) {
    const sidbeam_attribute_info info = attribute_info(index, i);
    if (find_attribute(other, info.name) < 0) names.emplace_back(info.name);
  }
  return names;
}

}  // namespace

void CommonAttribute::Side::read(int32_t type, int64_t row) {
  if (type == SIDBEAM_ATTRIBUTE_F32) {
    call(sidbeam_index_attribute_numbers, index, attribute, row, int64_t{1}, &number, &valid);
  } else if (type == SIDBEAM_ATTRIBUTE_STRING || type == SIDBEAM_ATTRIBUTE_STRING_LIST) {
    read_texts(type, row);
  } else {
    call(sidbeam_index_attribute_integers, index, attribute, row, int64_t{1}, &integer, &valid);
  }
}

void CommonAttribute::Side::read_texts(int32_t type, int64_t row) {
  texts.clear();
  if (type == SIDBEAM_ATTRIBUTE_STRING) {
    codes.resize(1);
    call(sidbeam_index_attribute_integers, index, attribute, row, int64_t{1}, codes.data(), &valid);
  } else {
    int64_t offsets[2] = {};
    call(sidbeam_index_attribute_lists, index, attribute, row, int64_t{1}, offsets, int64_t{0}, nullptr, &valid);
    codes.resize(static_cast<size_t>(offsets[1]));
    call(sidbeam_index_attribute_lists, index, attribute, row, int64_t{1}, offsets, offsets[1], codes.data(), &valid);
  }
  if (valid == 0) return;
  for (const int64_t code : codes) {
    const char* text = nullptr;
    int64_t bytes = 0;
    call(sidbeam_index_attribute_string, index, attribute, code, &text, &bytes);
    texts.emplace_back(text, static_cast<size_t>(bytes));
  }
}

Json CommonAttribute::Side::json(int32_t type) const {
  if (valid == 0) return nullptr;
  const std::vector<std::string> all(texts.begin(), texts.end());
  switch (type) {
    case SIDBEAM_ATTRIBUTE_I64:
      return integer;
    case SIDBEAM_ATTRIBUTE_F32:
      return printable(number);
    case SIDBEAM_ATTRIBUTE_BOOL:
      return integer != 0;
    case SIDBEAM_ATTRIBUTE_STRING:
      return all[0];
    default:
      return all;
  }
}

CommonAttribute::CommonAttribute(const sidbeam_index* a, int64_t number_a, const sidbeam_index* b, int64_t number_b)
    : type_(attribute_info(a, number_a).type),
      name_(attribute_info(a, number_a).name),
      sides_{{a, number_a}, {b, number_b}} {}

bool CommonAttribute::differs(int64_t row_a, int64_t row_b) {
  Side &a = sides_[0], &b = sides_[1];
  a.read(type_, row_a);
  b.read(type_, row_b);
  const bool same = a.valid == b.valid && a.integer == b.integer && a.number == b.number && a.texts == b.texts;
  differing_ += same ? 0 : 1;
  return !same;
}

std::pair<std::string, std::string> CommonAttribute::text() const {
  const auto [a, b] = json();
  return {a.text(), b.text()};
}

CommonAttributes::CommonAttributes(const sidbeam_index* a, const sidbeam_index* b)
    : only_a(missing(a, b)), only_b(missing(b, a)) {
  const int64_t count = index_info(a).attribute_count;
  for (int64_t i = 0; i < count; ++i) {
    const sidbeam_attribute_info info = attribute_info(a, i);
    const int64_t number = find_attribute(b, info.name);
    if (number < 0) continue;
    if (attribute_info(b, number).type == info.type) {
      common.emplace_back(a, i, b, number);
    } else {
      of_other_types.emplace_back(info.name);
    }
  }
}

}  // namespace cli
