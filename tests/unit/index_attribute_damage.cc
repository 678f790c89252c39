// Damage in attributes: full verification finds it, reading without verification survives it, and headers that promise
// what is not there are refused.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "index_attribute_columns.h"
#include "index_damage.h"

namespace sidbeam::testing {
namespace {

using format::SectionKind;

// 70 items, more than one word of bits, with and without nulls.
std::vector<uint8_t> specimen() {
  TestCatalogue catalogue;
  catalogue.codes = {80};
  TestColumn bools = {"bools", SIDBEAM_ATTRIBUTE_BOOL, {}}, integers = {"integers", SIDBEAM_ATTRIBUTE_I64, {}},
             lists = {"lists", SIDBEAM_ATTRIBUTE_STRING_LIST, {}}, numbers = {"numbers", SIDBEAM_ATTRIBUTE_F32, {}},
             strings = {"strings", SIDBEAM_ATTRIBUTE_STRING, {}};
  for (int32_t i = 0; i < 70; ++i) {
    catalogue.pairs.push_back({{i}, i, "", 0});
    const bool null = i % 7 == 3;
    bools.values.push_back(null ? Value() : Value(i % 2 == 0));
    integers.values.push_back(null ? Value() : Value(int64_t{i} * i - 100));
    numbers.values.emplace_back(static_cast<float>(i) / 4);
    strings.values.emplace_back("s" + std::to_string(i % 5));
    const std::string own = std::to_string(i % 9);
    lists.values.push_back(null         ? Value()
                           : i % 7 == 4 ? Value(std::vector<std::string>())
                                        : Value(std::vector<std::string>{"all", own}));
  }
  return bytes_of(build(catalogue, {bools, integers, lists, numbers, strings}));
}

Section& section_of(FileHeader& header, const char* attribute, SectionKind kind) {
  for (const AttributeShape& shape : header.attributes) {
    if (shape.name != attribute) continue;
    for (size_t i = shape.first_section; i < header.sections.size(); ++i)
      if (header.sections[i].spec.kind == kind) return header.sections[i];
  }
  throw std::logic_error("no such section");
}

template <class T>
T& at(Damaged& file, const char* attribute, SectionKind kind, uint64_t i) {
  return reinterpret_cast<T*>(file.bytes.data() + section_of(file.header, attribute, kind).offset)[i];
}

void read_everything(const Index& index) {
  size_t sum = 0;
  for (const Attribute& attribute : index.attributes) {
    for (uint64_t row = 0; row < index.view.items; ++row) {
      const Value value = value_of(attribute, row);
      sum += value.index();
      if (const auto* list = std::get_if<std::vector<std::string>>(&value); list != nullptr) sum += list->size();
    }
    for (uint64_t i = 0; i < attribute.dictionary.count; ++i) sum += attribute.dictionary[i].size();
  }
  volatile size_t read = sum;  // so that the compiler leaves none of it out
  static_cast<void>(read);
}

TEST(IndexAttributeDamage, EveryByteOfEverySectionCounts) {
  const std::vector<uint8_t> original = specimen();
  Damaged(original).open(SIDBEAM_VERIFY_FULL);
  for (const Section& section : Damaged(original).header.sections) {
    if (!is_attribute(section.spec.kind)) continue;
    for (uint64_t at = section.offset; at < section.offset + section.spec.length; ++at) {
      for (const uint8_t flip : {uint8_t{0x01}, uint8_t{0x80}, uint8_t{0xff}}) {
        SCOPED_TRACE(::testing::Message() << SectionName(static_cast<uint16_t>(section.spec.kind), -1).text << ", byte "
                                          << at - section.offset << " xor " << int{flip});
        Damaged file(original);
        file.bytes[static_cast<int64_t>(at)] ^= flip;
        EXPECT_FAILS(SIDBEAM_CORRUPT, "wrong checksum", file.open(SIDBEAM_VERIFY_CHECKSUMS));
        file.seal();
        ASSERT_NO_THROW(file.open(SIDBEAM_VERIFY_CHECKSUMS));
        EXPECT_EQ(failure_of([&] { file.open(SIDBEAM_VERIFY_FULL); }).status, SIDBEAM_CORRUPT);
        read_everything(file.open(SIDBEAM_VERIFY_HEADER));
        if (HasFailure()) return;
      }
    }
  }
}

TEST(IndexAttributeDamage, RandomContentsAreNeverFollowedOutside) {
  std::mt19937_64 random(12);
  const std::vector<uint8_t> original = specimen();
  for (int repeat = 0; repeat < 500; ++repeat) {
    Damaged file(original);
    for (const Section& section : file.header.sections) {
      if (!is_attribute(section.spec.kind) || random() % 2 == 0) continue;
      const uint64_t style = random() % 3;
      for (uint64_t i = 0; i < section.spec.length; ++i)
        file.bytes[static_cast<int64_t>(section.offset + i)] = static_cast<uint8_t>(style == 0   ? random()
                                                                                    : style == 1 ? 0xff
                                                                                                 : 0);
    }
    file.seal();
    read_everything(file.open(SIDBEAM_VERIFY_HEADER));
    if (std::memcmp(file.bytes.data(), original.data(), original.size()) != 0) {
      EXPECT_EQ(failure_of([&] { file.open(SIDBEAM_VERIFY_FULL); }).status, SIDBEAM_CORRUPT);
    }
  }
}

// What is found before the digest, which finds it all, says what is wrong.
TEST(IndexAttributeDamage, MessagesSayWhatIsWrong) {
  const auto expect = [](const char* text, auto&& damage) {
    Damaged file(specimen());
    damage(file);
    file.seal();
    EXPECT_FAILS(SIDBEAM_CORRUPT, text, file.open(SIDBEAM_VERIFY_FULL));
  };
  expect("attribute 'integers' has values beyond the last row, 69",
         [](Damaged& file) { at<uint64_t>(file, "integers", SectionKind::AttributeValid, 1) |= uint64_t{1} << 6; });
  expect("attribute 'integers' has 59 values, the header says 60",
         [](Damaged& file) { at<uint64_t>(file, "integers", SectionKind::AttributeValid, 0) &= ~uint64_t{1}; });
  expect("attribute 'integers': row 3 is null and not 0",
         [](Damaged& file) { at<int64_t>(file, "integers", SectionKind::AttributeIntegers, 3) = 5; });
  expect("attribute 'integers' has values from -101 to",
         [](Damaged& file) { at<int64_t>(file, "integers", SectionKind::AttributeIntegers, 0) = -101; });
  expect("attribute 'numbers': row 9 is NaN",
         [](Damaged& file) { at<float>(file, "numbers", SectionKind::AttributeNumbers, 9) = NAN; });
  expect("attribute 'bools' has true values beyond the last row",
         [](Damaged& file) { at<uint64_t>(file, "bools", SectionKind::AttributeBools, 1) |= uint64_t{1} << 63; });
  expect("attribute 'strings': row 69 has code 5, expected less than 5",
         [](Damaged& file) { at<uint16_t>(file, "strings", SectionKind::AttributeCodes, 69) = 5; });
  expect("attribute 'strings': entry 2 of the dictionary is not above the one before",
         [](Damaged& file) { at<char>(file, "strings", SectionKind::DictionaryText, 5) = '1'; });
  expect("attribute 'strings': entry 0 of the dictionary is not valid UTF-8",
         [](Damaged& file) { at<char>(file, "strings", SectionKind::DictionaryText, 1) = '\xc3'; });
  expect("attribute 'strings': entry 1 of the dictionary begins at 11, expected 0 to 10",
         [](Damaged& file) { at<uint64_t>(file, "strings", SectionKind::DictionaryOffsets, 1) = 11; });
  expect("attribute 'strings': no row has entry 4 of the dictionary", [](Damaged& file) {
    for (uint64_t row = 4; row < 70; row += 5) at<uint16_t>(file, "strings", SectionKind::AttributeCodes, row) = 0;
  });
  expect("attribute 'lists': the list of row 5 is codes 8 to 7 of", [](Damaged& file) {
    at<uint32_t>(file, "lists", SectionKind::AttributeOffsets, 5) = 8;
    at<uint32_t>(file, "lists", SectionKind::AttributeOffsets, 6) = 7;
  });
  expect("attribute 'lists': row 3 is null and not 0",
         [](Damaged& file) { at<uint32_t>(file, "lists", SectionKind::AttributeOffsets, 3) = 5; });
  expect("attribute 'lists': row 0 has code 9 twice",
         [](Damaged& file) { at<uint16_t>(file, "lists", SectionKind::AttributeCodes, 1) = 9; });
  expect("the attributes have the digest",
         [](Damaged& file) { at<int64_t>(file, "integers", SectionKind::AttributeIntegers, 20) += 1; });
}

TEST(IndexAttributeDamage, HeadersThatAreImpossibleAreRefused) {
  const auto expect = [](const char* text, auto&& damage) {
    Damaged file(specimen());
    damage(file.header);
    // Numbers of the header have the same length whatever their value.
    const std::vector<uint8_t> encoded = encode_header(file.header);
    std::memcpy(file.bytes.data(), encoded.data(), encoded.size());
    EXPECT_FAILS(SIDBEAM_CORRUPT, text, file.open(SIDBEAM_VERIFY_HEADER));
  };
  const auto shape = [](FileHeader& header, size_t i) -> AttributeShape& { return header.attributes[i]; };
  expect("attribute 'integers' has 71 nulls, expected at most the 70 items",
         [&](FileHeader& header) { shape(header, 1).nulls = 71; });
  expect("attribute 'integers' has a section attribute_valid, expected attribute_integers",
         [&](FileHeader& header) { shape(header, 1).nulls = 0; });
  expect("attribute 'integers' has 1 strings, expected at most 0",
         [&](FileHeader& header) { shape(header, 1).strings = 1; });
  expect("attribute 'strings' has 9223372036854775807 strings, expected at most",
         [&](FileHeader& header) { shape(header, 4).strings = ~uint64_t{0} >> 1; });
  expect("attribute 'lists' has 9223372036854775807 codes, expected at most",
         [&](FileHeader& header) { shape(header, 2).codes = ~uint64_t{0} >> 1; });
  expect("section attribute_codes of attribute 'lists' has", [&](FileHeader& header) { ++shape(header, 2).codes; });
  expect("section dictionary_offsets of attribute 'strings' has 48 bytes, expected 56",
         [&](FileHeader& header) { ++shape(header, 4).strings; });
  expect("attribute 'strings' has 3 sections from 4294967295 on, the file has",
         [&](FileHeader& header) { shape(header, 4).first_section = ~uint32_t{0}; });
  expect("attribute 'bools' has a section attribute_bools, expected attribute_valid",
         [&](FileHeader& header) { ++shape(header, 0).first_section; });
  expect("attribute 3 has the unknown type 6",
         [&](FileHeader& header) { shape(header, 3).type = static_cast<AttributeType>(6); });
  expect("section attribute_numbers of attribute 'numbers' has encoding u32, expected f32", [&](FileHeader& header) {
    section_of(header, "numbers", SectionKind::AttributeNumbers).spec.encoding = format::Encoding::U32;
  });
  expect("the header's attributes are not sorted by name: 'aools' after 'bools'",
         [&](FileHeader& header) { shape(header, 1).name = "aools"; });
  expect("the name of attribute 1 has a control character",
         [&](FileHeader& header) { shape(header, 1).name = "integer\n"; });
  expect("the name of attribute 1 is not valid UTF-8",
         [&](FileHeader& header) { shape(header, 1).name = "integer\xff"; });
}

// A reader from before attributes skips their sections: it knows none of them, and none is required.
TEST(IndexAttributeDamage, OlderReadersSkipThem) {
  Damaged file(specimen());
  for (Section& section : file.header.sections) {
    if (!is_attribute(section.spec.kind)) continue;
    EXPECT_FALSE(section.spec.required);
    section.spec.kind = static_cast<SectionKind>(1000);  // as unknown to this reader as they are to those
  }
  const std::vector<AttributeShape> attributes = std::exchange(file.header.attributes, {});
  const uint64_t before = file.header.sections[0].offset;
  const std::vector<uint8_t> encoded = encode_header(file.header);
  ASSERT_LE(encoded.size(), before);
  std::memset(file.bytes.data(), 0, before);
  std::memcpy(file.bytes.data(), encoded.data(), encoded.size());
  const Index index = file.open(SIDBEAM_VERIFY_FULL);
  EXPECT_EQ(index.view.items, 70u);
  EXPECT_TRUE(index.attributes.empty());
}

}  // namespace
}  // namespace sidbeam::testing
