// Opening: every residency gives the same index, and every damage of the header has its own error.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "index/format.h"
#include "index/header.h"
#include "index/names.h"
#include "index/read/open.h"
#include "index_catalogues.h"

namespace sidbeam::testing {
namespace {

namespace fs = std::filesystem;

TestCatalogue small_catalogue() {
  TestCatalogue catalogue;
  catalogue.codes = {80, 5, 7};
  catalogue.variable_length = true;
  catalogue.kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_HASH;
  for (int32_t a = 0; a < 70; ++a) catalogue.pairs.push_back({{a, a % 5, a % 7}, a, "", 0});
  catalogue.pairs.push_back({{3}, 100, "", 0});
  catalogue.pairs.push_back({{3, 3}, 101, "", 0});
  catalogue.pairs.push_back({{3, 3}, 102, "", 0});
  return catalogue;
}

// Bytes at a multiple of 64, as open_index_memory() wants them.
struct Bytes {
  explicit Bytes(const std::vector<uint8_t>& from) : buffer(default_allocator(), static_cast<int64_t>(from.size())) {
    if (!from.empty()) std::memcpy(buffer.data(), from.data(), from.size());
  }
  Index open(int32_t verify = SIDBEAM_VERIFY_HEADER) const {
    return open_index_memory(buffer.data(), buffer.size(), nullptr, SIDBEAM_RESIDENCY_MAP, verify, 1,
                             default_allocator());
  }
  Buffer<uint8_t> buffer;
};

class OpenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "sidbeam-test-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = (folder_ / "x.sidx").string();
    bytes_ = bytes_of(build(small_catalogue()));
  }
  void TearDown() override { fs::remove_all(folder_); }
  void put(const std::vector<uint8_t>& bytes) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  Index open(int32_t residency = SIDBEAM_RESIDENCY_MAP, int32_t verify = SIDBEAM_VERIFY_FULL) {
    return open_index(path_.c_str(), residency, verify, 2, default_allocator());
  }
  // A file whose header was changed, with a correct checksum.
  std::vector<uint8_t> with_header(const std::function<void(FileHeader&)>& change) const {
    const Bytes aligned(bytes_);
    FileHeader header = decode_header({aligned.buffer.data(), bytes_.size()}, bytes_.size(), best_cpu_target());
    change(header);
    std::vector<uint8_t> bytes = bytes_;
    const std::vector<uint8_t> encoded = encode_header(header);
    bytes.resize(std::max(bytes.size(), encoded.size()));
    std::copy(encoded.begin(), encoded.end(), bytes.begin());
    return bytes;
  }
  void expect_header_fault(sidbeam_status status, const std::string& text,
                           const std::function<void(FileHeader&)>& change) const {
    SCOPED_TRACE(text);
    EXPECT_FAILS(status, text, Bytes(with_header(change)).open());
  }

  fs::path folder_;
  std::string path_;
  std::vector<uint8_t> bytes_;
};

Section& section_of(FileHeader& header, format::SectionKind kind, int level) {
  for (Section& section : header.sections) {
    if (section.spec.kind == kind && section.spec.level == level) return section;
  }
  throw std::logic_error("no such section");
}

TEST_F(OpenTest, EveryResidencyGivesTheSameIndex) {
  put(bytes_);
  for (const int32_t residency :
       {SIDBEAM_RESIDENCY_MAP, SIDBEAM_RESIDENCY_PREFAULT, SIDBEAM_RESIDENCY_LOCK, SIDBEAM_RESIDENCY_COPY}) {
    const Index index = open(residency);
    EXPECT_EQ(bytes_of(index), bytes_);
    EXPECT_EQ(index.header.info.items, 73);
  }
  const IndexHeaderInfo peeked = peek_index(path_.c_str());
  EXPECT_EQ(peeked.info.sids, 72);
  EXPECT_EQ(peeked.info.shortest, 1);
  EXPECT_EQ(peeked.info.kinds, SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH);
  EXPECT_EQ(peeked.info.file_bytes, static_cast<int64_t>(bytes_.size()));
}

TEST_F(OpenTest, WhatIsNotAFileIsAnIoError) {
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "cannot open '" + path_ + "': No such file or directory", open());
  path_ = folder_.string();
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "Is a directory", open());
  path_ = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_FAILS(SIDBEAM_IO_ERROR, "not a regular file", open());
}

TEST_F(OpenTest, DamagedBeginningsAreNamed) {
  const auto expect = [&](sidbeam_status status, const std::string& text, const std::vector<uint8_t>& bytes) {
    SCOPED_TRACE(text);
    put(bytes);
    EXPECT_FAILS(status, text, open());
    EXPECT_FAILS(status, "'" + path_ + "': ", open(SIDBEAM_RESIDENCY_COPY));
    EXPECT_FAILS(status, text, peek_index(path_.c_str()));
    EXPECT_FAILS(status, text, Bytes(bytes).open());
  };
  const auto with_byte = [&](size_t at, uint8_t value) {
    std::vector<uint8_t> bytes = bytes_;
    bytes[at] = value;
    return bytes;
  };
  expect(SIDBEAM_CORRUPT, "file too short: 12 bytes, an index has at least 32", {bytes_.begin(), bytes_.begin() + 12});
  expect(SIDBEAM_CORRUPT, "wrong magic", with_byte(0, 'X'));
  expect(SIDBEAM_UNSUPPORTED, "format version 2.2, this library reads version 1", with_byte(8, 2));
  expect(SIDBEAM_CORRUPT, "format version 0.2", with_byte(8, 0));
  expect(SIDBEAM_CORRUPT, "file too short: a header of", {bytes_.begin(), bytes_.begin() + 100});
  expect(SIDBEAM_CORRUPT, "does not fit a file of", with_byte(22, 1));
  expect(SIDBEAM_CORRUPT, "wrong checksum: the header is damaged", with_byte(40, bytes_[40] ^ 1));
  std::vector<uint8_t> longer = bytes_, shorter = bytes_;
  longer.resize(longer.size() + 64);
  shorter.resize(shorter.size() - 1);
  expect(SIDBEAM_CORRUPT, "its header says", longer);
  expect(SIDBEAM_CORRUPT, "its header says", shorter);
}

TEST_F(OpenTest, EmptyFilesAreTooShort) {
  put({});
  EXPECT_FAILS(SIDBEAM_CORRUPT, "file too short: 0 bytes", open());
}

TEST_F(OpenTest, ANewerMinorFormatIsRead) {
  std::vector<uint8_t> bytes = with_header([](FileHeader& header) { header.minor = 7; });
  const Bytes aligned(bytes);
  EXPECT_EQ(aligned.open(SIDBEAM_VERIFY_FULL).header.info.format_minor, 7);
}

TEST_F(OpenTest, CountsThatDisagreeAreCorrupt) {
  expect_header_fault(SIDBEAM_CORRUPT, "sids is 0, expected at least 1", [](auto& h) { h.shape.sids = 0; });
  expect_header_fault(SIDBEAM_CORRUPT, "items is 1, expected at least 72", [](auto& h) { h.shape.items = 1; });
  expect_header_fault(SIDBEAM_CORRUPT, "items is 1099511627776, expected at most",
                      [](auto& h) { h.shape.items = kMaxItems; });
  expect_header_fault(SIDBEAM_CORRUPT, "collisions is 0, expected at least 1", [](auto& h) { h.collisions = 0; });
  expect_header_fault(SIDBEAM_CORRUPT, "max_items_per_sid is 9, expected at most 2",
                      [](auto& h) { h.max_items_per_sid = 9; });
  expect_header_fault(SIDBEAM_CORRUPT, "longest is 4, expected at most 3", [](auto& h) { h.longest = 4; });
  expect_header_fault(SIDBEAM_CORRUPT, "shortest is 0, expected at least 1", [](auto& h) { h.shortest = 0; });
  expect_header_fault(SIDBEAM_CORRUPT, "codes of level 1 is 0", [](auto& h) { h.shape.level[1].codes = 0; });
  expect_header_fault(SIDBEAM_CORRUPT, "codes of level 1 is 16777216",
                      [](auto& h) { h.shape.level[1].codes = 1 << 24; });
  expect_header_fault(SIDBEAM_CORRUPT, "nodes of level 0 is 2, expected exactly 1",
                      [](auto& h) { h.shape.level[0].nodes = 2; });
  expect_header_fault(SIDBEAM_CORRUPT, "edges of level 2", [](auto& h) { h.shape.level[2].edges = ~uint64_t{0}; });
  expect_header_fault(SIDBEAM_CORRUPT, "ends of level 0 is 1", [](auto& h) { h.shape.level[0].ends = 1; });
  expect_header_fault(SIDBEAM_CORRUPT, "dense_nodes of level 1", [](auto& h) { h.shape.level[1].dense_nodes = 1000; });
  expect_header_fault(SIDBEAM_CORRUPT, "max_children of level 0", [](auto& h) { h.shape.level[0].max_children = 82; });
  expect_header_fault(SIDBEAM_CORRUPT, "sids is 73, expected exactly 72",
                      [](auto& h) { h.shape.sids = h.shape.items++; });
  expect_header_fault(SIDBEAM_CORRUPT, "levels, expected 1 to 255", [](auto& h) { h.shape.levels = 0; });
  expect_header_fault(SIDBEAM_CORRUPT, "unknown id type 9", [](auto& h) { h.shape.id_type = static_cast<IdType>(9); });
}

TEST_F(OpenTest, SectionsThatDoNotFitAreCorrupt) {
  using format::Encoding;
  using format::SectionKind;
  const auto tokens = [](FileHeader& h) -> Section& { return section_of(h, SectionKind::Tokens, 2); };
  expect_header_fault(SIDBEAM_CORRUPT, "section tokens of level 2 lies outside the file",
                      [&](auto& h) { tokens(h).offset = uint64_t{1} << 40; });
  expect_header_fault(SIDBEAM_CORRUPT, "section tokens of level 2 begins at byte",
                      [&](auto& h) { tokens(h).offset += 8; });
  expect_header_fault(SIDBEAM_CORRUPT, "and overlaps what ends at byte", [&](auto& h) { tokens(h).offset = 0; });
  expect_header_fault(SIDBEAM_CORRUPT, "section tokens of level 2 has 2 bytes, expected 142",
                      [&](auto& h) { tokens(h).spec.length = 2; });
  expect_header_fault(SIDBEAM_CORRUPT, "section tokens of level 2 has encoding u32 (2), expected u16",
                      [&](auto& h) { tokens(h).spec.encoding = Encoding::U32; });
  expect_header_fault(SIDBEAM_CORRUPT, "section tokens of level 1 is not expected, or not twice",
                      [&](auto& h) { tokens(h).spec.level = 1; });
  expect_header_fault(SIDBEAM_CORRUPT, "names level 3 of 3", [&](auto& h) { tokens(h).spec.level = 3; });
  expect_header_fault(SIDBEAM_CORRUPT, "is missing", [&](auto& h) {
    tokens(h).spec.required = false;
    tokens(h).spec.kind = static_cast<SectionKind>(999);
  });
  expect_header_fault(SIDBEAM_UNSUPPORTED, "sections of kind 999, which this library does not know",
                      [&](auto& h) { tokens(h).spec.kind = static_cast<SectionKind>(999); });
}

TEST_F(OpenTest, TextsWithANulAreRefused) {
  const std::string cut("a\0b", 3);
  expect_header_fault(SIDBEAM_CORRUPT, "the header's codebook has a NUL in it", [&](auto& h) { h.codebook = cut; });
  expect_header_fault(SIDBEAM_CORRUPT, "the header's metadata has a NUL in it", [&](auto& h) {
    h.metadata = {{"a", ""}, {cut, ""}};
  });
  expect_header_fault(SIDBEAM_CORRUPT, "the header's metadata has a NUL in it", [&](auto& h) {
    h.metadata = {{"a", cut}};
  });
}

// An unknown kind of section may mean anything by its level, which need not be one of ours.
TEST_F(OpenTest, UnknownOptionalSectionsAreSkipped) {
  const Bytes aligned(bytes_);
  for (const int level : {-1, 0, 40, 63, 64, 65, 4000, 32767}) {
    SCOPED_TRACE(level);
    // Room for one more header entry, then the old sections at new places.
    FileHeader header = decode_header({aligned.buffer.data(), bytes_.size()}, bytes_.size(), best_cpu_target());
    const std::vector<Section> old = header.sections;
    header.sections.insert(
        header.sections.begin(),
        Section{{static_cast<format::SectionKind>(500), format::Encoding::Bytes, level, 8, false}, 0, 0});
    header.file_bytes = place_sections(encode_header(header).size() - sizeof(Preamble), header.sections);
    std::vector<uint8_t> bytes(header.file_bytes, 0);
    for (size_t i = 0; i < old.size(); ++i)
      std::copy_n(bytes_.begin() + static_cast<int64_t>(old[i].offset), old[i].spec.length,
                  bytes.begin() + static_cast<int64_t>(header.sections[i + 1].offset));
    header.sections[0].checksum = xxh3_64(best_cpu_target(), bytes.data() + header.sections[0].offset, 8);
    const std::vector<uint8_t> encoded = encode_header(header);
    std::copy(encoded.begin(), encoded.end(), bytes.begin());
    const Bytes file(bytes);
    for (int32_t depth = SIDBEAM_VERIFY_HEADER; depth <= SIDBEAM_VERIFY_FULL; ++depth) {
      Index index = file.open(depth);
      EXPECT_EQ(index.header.info.section_count, static_cast<int32_t>(old.size() + 1));
      EXPECT_STREQ(section_kind_name(index.header.sections[0].kind), "unknown");
      EXPECT_EQ(index.header.sections[0].level, level);
      for (const SectionInfo& section : index.header.sections) place_section(section, nullptr, index.view);
    }
  }
}

TEST_F(OpenTest, MemoryMustBeAlignedUnlessItIsCopied) {
  Buffer<uint8_t> shifted(default_allocator(), static_cast<int64_t>(bytes_.size()) + 8);
  std::memcpy(shifted.data() + 8, bytes_.data(), bytes_.size());
  const auto size = static_cast<int64_t>(bytes_.size());
  int released = 0;
  const auto open_at = [&](const uint8_t* data, int32_t residency) {
    return open_index_memory(
        data, size, [&] { ++released; }, residency, SIDBEAM_VERIFY_FULL, 1, default_allocator());
  };
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "expected a multiple of 64, or residency COPY",
               open_at(shifted.data() + 8, SIDBEAM_RESIDENCY_MAP));
  EXPECT_FAILS(SIDBEAM_INVALID_ARGUMENT, "residency LOCK is for files, expected MAP, PREFAULT or COPY for memory",
               open_at(shifted.data(), SIDBEAM_RESIDENCY_LOCK));
  EXPECT_EQ(released, 0);
  {
    const Index copied = open_at(shifted.data() + 8, SIDBEAM_RESIDENCY_COPY);
    EXPECT_EQ(released, 1);
    EXPECT_EQ(copied.header.info.items, 73);
  }
  EXPECT_EQ(released, 1);
  std::memmove(shifted.data(), shifted.data() + 8, bytes_.size());
  {
    const Index borrowed = open_at(shifted.data(), SIDBEAM_RESIDENCY_PREFAULT);
    EXPECT_EQ(borrowed.bytes.data(), shifted.data());
    EXPECT_EQ(released, 1);
  }
  EXPECT_EQ(released, 2);
}

}  // namespace
}  // namespace sidbeam::testing
