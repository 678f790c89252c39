// SPDX-License-Identifier: Apache-2.0
#include "index/attributes/sections.h"

#include <algorithm>

#include "index/names.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using format::Encoding;
using format::SectionKind;
using ull = unsigned long long;

void check_shape(const AttributeShape& shape, uint64_t items, uint64_t file_bytes) {
  const char* const name = shape.name.c_str();
  // A string takes an offset of the file, and a code two bytes, so that no product below overflows.
  const uint64_t strings = has_dictionary(shape.type) ? std::min(kMaxStrings, file_bytes / 8) : 0;
  const uint64_t codes = shape.type == AttributeType::kStringList ? file_bytes / 2 : 0;
  if (shape.nulls > items)
    fail(SIDBEAM_CORRUPT, "attribute '%s' has %llu nulls, expected at most the %llu items", name,
         static_cast<ull>(shape.nulls), static_cast<ull>(items));
  if (shape.strings > strings)
    fail(SIDBEAM_CORRUPT, "attribute '%s' has %llu strings, expected at most %llu", name,
         static_cast<ull>(shape.strings), static_cast<ull>(strings));
  if (shape.codes > codes)
    fail(SIDBEAM_CORRUPT, "attribute '%s' has %llu codes, expected at most %llu", name, static_cast<ull>(shape.codes),
         static_cast<ull>(codes));
}

void check_section(const AttributeShape& shape, const SectionSpec& found, const SectionSpec& expected) {
  const auto kind = static_cast<uint16_t>(expected.kind), encoding = static_cast<uint16_t>(expected.encoding);
  const char* const name = shape.name.c_str();
  if (found.kind != expected.kind)
    fail(SIDBEAM_CORRUPT, "attribute '%s' has a section %s, expected %s", name,
         section_kind_name(static_cast<uint16_t>(found.kind)), section_kind_name(kind));
  if (found.encoding != expected.encoding)
    fail(SIDBEAM_CORRUPT, "section %s of attribute '%s' has encoding %s, expected %s", section_kind_name(kind), name,
         section_encoding_name(static_cast<uint16_t>(found.encoding)), section_encoding_name(encoding));
  if (found.length != expected.length)
    fail(SIDBEAM_CORRUPT, "section %s of attribute '%s' has %llu bytes, expected %llu", section_kind_name(kind), name,
         static_cast<ull>(found.length), static_cast<ull>(expected.length));
}

}  // namespace

std::vector<SectionSpec> attribute_sections(const AttributeShape& shape, uint64_t items) {
  std::vector<SectionSpec> specs;
  const auto add = [&](SectionKind kind, Encoding encoding, uint64_t count) {
    specs.push_back({kind, encoding, -1, count * element_bytes(encoding), false});
  };
  if (shape.nulls > 0) add(SectionKind::AttributeValid, Encoding::Bits, divide_up(items, 64));
  switch (shape.type) {
    case AttributeType::kI64:
      add(SectionKind::AttributeIntegers, Encoding::I64, items);
      return specs;
    case AttributeType::kF32:
      add(SectionKind::AttributeNumbers, Encoding::F32, items);
      return specs;
    case AttributeType::kBool:
      add(SectionKind::AttributeBools, Encoding::Bits, divide_up(items, 64));
      return specs;
    case AttributeType::kString:
      add(SectionKind::AttributeCodes, code_encoding(shape.strings), items);
      break;
    case AttributeType::kStringList:
      add(SectionKind::AttributeOffsets, position_encoding(shape.codes), items + 1);
      add(SectionKind::AttributeCodes, code_encoding(shape.strings), shape.codes);
      break;
  }
  add(SectionKind::DictionaryOffsets, Encoding::U64, shape.strings + 1);
  add(SectionKind::DictionaryText, Encoding::Bytes, shape.text_bytes);
  return specs;
}

void check_attributes(std::vector<AttributeShape>& shapes, const std::vector<Section>& sections, uint64_t items,
                      uint64_t file_bytes) {
  for (size_t i = 0; i < shapes.size(); ++i) {
    AttributeShape& shape = shapes[i];
    if (const char* refused = refused_attribute_name(shape.name); refused != nullptr)
      fail(SIDBEAM_CORRUPT, "the name of attribute %zu %s", i, refused);
    if (i > 0 && shapes[i - 1].name >= shape.name)
      fail(SIDBEAM_CORRUPT, "the header's attributes are not sorted by name: '%s' after '%s'", shape.name.c_str(),
           shapes[i - 1].name.c_str());
    check_shape(shape, items, file_bytes);
    const size_t count = attribute_sections(shape, items).size();
    if (shape.first_section > sections.size() || sections.size() - shape.first_section < count)
      fail(SIDBEAM_CORRUPT, "attribute '%s' has %zu sections from %u on, the file has %zu", shape.name.c_str(), count,
           shape.first_section, sections.size());
    const Section* const first = sections.data() + shape.first_section;
    if (has_dictionary(shape.type)) shape.text_bytes = first[count - 1].spec.length;
    const std::vector<SectionSpec> expected = attribute_sections(shape, items);
    for (size_t s = 0; s < count; ++s) check_section(shape, first[s].spec, expected[s]);
  }
}

Attribute view_of(const AttributeShape& shape, const std::vector<Section>& sections, uint64_t items,
                  const uint8_t* base) {
  Attribute view;
  view.name = shape.name;
  view.type = shape.type;
  view.code_count = shape.codes;
  view.dictionary.count = shape.strings;
  view.dictionary.bytes = shape.text_bytes;
  const size_t count = attribute_sections(shape, items).size();
  for (size_t i = shape.first_section; i < shape.first_section + count; ++i) {
    const uint8_t* const data = base + sections[i].offset;
    const UintArray array{data, static_cast<int32_t>(element_bytes(sections[i].spec.encoding))};
    switch (sections[i].spec.kind) {
      case SectionKind::AttributeValid:
        view.valid = reinterpret_cast<const uint64_t*>(data);
        break;
      case SectionKind::AttributeIntegers:
        view.integers = reinterpret_cast<const int64_t*>(data);
        break;
      case SectionKind::AttributeNumbers:
        view.numbers = reinterpret_cast<const float*>(data);
        break;
      case SectionKind::AttributeBools:
        view.bools = reinterpret_cast<const uint64_t*>(data);
        break;
      case SectionKind::AttributeCodes:
        view.codes = array;
        break;
      case SectionKind::AttributeOffsets:
        view.offsets = array;
        break;
      case SectionKind::DictionaryOffsets:
        view.dictionary.offsets = reinterpret_cast<const uint64_t*>(data);
        break;
      default:
        view.dictionary.text = reinterpret_cast<const char*>(data);
    }
  }
  return view;
}

}  // namespace sidbeam
