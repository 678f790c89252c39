// SPDX-License-Identifier: Apache-2.0
#include "fingerprint.h"

#include <cstring>

#include "schemas/index_generated.h"
#include "shape.h"
#include "sidbeam/base.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace fuzz {
namespace {

using sidbeam::format::Encoding;
using sidbeam::format::SectionKind;

constexpr size_t kMostSids = 4096;

// The numbers of a section, as wide as they may be.
std::vector<uint64_t> numbers(const FileSection* section) {
  std::vector<uint64_t> values;
  if (section == nullptr) return values;
  const size_t width = element_bytes(section->encoding);
  for (size_t at = 0; at + width <= section->bytes.size(); at += width) {
    uint64_t value = 0;
    std::memcpy(&value, section->bytes.data() + at, width);
    values.push_back(value);
  }
  return values;
}

std::vector<uint64_t> numbers(const IndexFile& file, SectionKind kind, int level) {
  return numbers(file.find(static_cast<uint16_t>(kind), level));
}

using Columns = std::vector<std::vector<uint32_t>>;  // [levels] of one code per SID

// The SIDs of a trie, in the order of its edges.
class Walk {
 public:
  explicit Walk(const IndexFile& file) : file_(file), levels_(file.levels.size()), tail_(file.tail_level) {
    for (size_t l = 0; l < (tail_ > 0 ? tail_ : levels_); ++l) {
      pointers_.push_back(numbers(file, SectionKind::RowPointers, static_cast<int>(l)));
      tokens_.push_back(numbers(file, SectionKind::Tokens, static_cast<int>(l)));
    }
    if (tail_ > 0) {
      ordinals_ = numbers(file, SectionKind::Ordinals, static_cast<int>(tail_));
      const FileSection* codes = file.find(static_cast<uint16_t>(SectionKind::Tail), static_cast<int>(tail_));
      tail_codes_ = numbers(codes);
      if (codes != nullptr && codes->encoding == static_cast<uint16_t>(Encoding::ItemColumnTail)) mask_ = 0x7fff;
      if (codes != nullptr && codes->encoding == static_cast<uint16_t>(Encoding::WideItemColumnTail))
        mask_ = 0x7fffffff;
    }
    columns_.resize(levels_);
    prefix_.resize(levels_);
  }

  Columns columns() {
    go(0, 0);
    return std::move(columns_);
  }

 private:
  void emit() {
    for (size_t l = 0; l < levels_; ++l) columns_[l].push_back(static_cast<uint32_t>(prefix_[l]));
  }

  void go_on_in_tail(uint64_t node) {
    if (node + 1 >= ordinals_.size()) return;
    for (uint64_t sid = ordinals_[node]; sid < ordinals_[node + 1] && columns_[0].size() < kMostSids; ++sid) {
      const uint64_t width = levels_ - tail_;
      if (sid >= tail_codes_.size() / width) return;
      for (uint64_t l = 0; l < width; ++l) prefix_[tail_ + l] = tail_codes_[sid * width + l] & mask_;
      emit();
    }
  }

  void go(size_t level, uint64_t node) {
    if (level == levels_) return emit();
    if (tail_ > 0 && level == tail_) return go_on_in_tail(node);
    const std::vector<uint64_t>& pointers = pointers_[level];
    if (node + 1 >= pointers.size()) return;
    for (uint64_t edge = pointers[node]; edge < pointers[node + 1] && columns_[0].size() < kMostSids; ++edge) {
      if (edge >= tokens_[level].size()) return;
      prefix_[level] = tokens_[level][edge];
      if (file_.variable_length && level > 0 && prefix_[level] == file_.levels[level].codes) {
        for (size_t l = level + 1; l < levels_; ++l) prefix_[l] = file_.levels[l].codes;
        emit();
      } else {
        go(level + 1, edge);
      }
    }
  }

  const IndexFile& file_;
  size_t levels_, tail_;
  std::vector<std::vector<uint64_t>> pointers_, tokens_;
  std::vector<uint64_t> ordinals_, tail_codes_, prefix_;
  uint64_t mask_ = ~uint64_t{0};
  Columns columns_;
};

Columns columns_of(const IndexFile& file) {
  if (file.find(static_cast<uint16_t>(SectionKind::Columns), 0) == nullptr) {
    if (file.tail_level > 0 && file.variable_length) return {};
    return Walk(file).columns();
  }
  Columns columns;
  for (size_t l = 0; l < file.levels.size(); ++l) {
    const std::vector<uint64_t> codes = numbers(file, SectionKind::Columns, static_cast<int>(l));
    columns.emplace_back(codes.begin(), codes.end());
  }
  return columns;
}

void add(std::vector<uint64_t>& stream, const void* data, size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  stream.insert(stream.end(), {hash.low64, hash.high64});
}

void add_ids(const IndexFile& file, std::vector<uint64_t>& stream) {
  std::vector<uint8_t> ids;

  const auto append = [&](SectionKind kind) {
    if (const FileSection* section = file.find(static_cast<uint16_t>(kind), -1))
      ids.insert(ids.end(), section->bytes.begin(), section->bytes.end());
  };
  if (file.id_type == 2) {
    append(SectionKind::ItemNameOffsets);
    append(SectionKind::ItemNames);
  } else {
    append(SectionKind::ItemIds);
  }
  add(stream, ids.data(), ids.size());
}

// The digest of the attributes, whose sections are as many as their types and nulls ask for.
void repair_digest(IndexFile& file) {
  std::vector<uint64_t> stream = {file.items, file.attributes.size()};
  for (const FileAttribute& attribute : file.attributes) {
    const size_t sections = (attribute.nulls > 0 ? 1 : 0) + (attribute.type < 4 ? 1 : attribute.type - 1u);
    if (attribute.first_section > file.sections.size() || sections > file.sections.size() - attribute.first_section)
      return;
    add(stream, attribute.name.data(), attribute.name.size());
    stream.insert(stream.end(), {attribute.type, attribute.nulls});
    for (size_t i = attribute.first_section; i < attribute.first_section + sections; ++i)
      add(stream, file.sections[i].bytes.data(), file.sections[i].bytes.size());
  }
  const XXH128_hash_t hash = XXH3_128bits(stream.data(), stream.size() * sizeof(uint64_t));
  file.digest_low = hash.low64;
  file.digest_high = hash.high64;
}

}  // namespace

void repair_fingerprint(IndexFile& file) {
  repair_digest(file);
  if (file.levels.empty() || file.levels.size() > SIDBEAM_MAX_LEVELS || file.tail_level >= file.levels.size()) return;
  const Columns columns = columns_of(file);
  if (columns.size() != file.levels.size() || columns[0].size() != file.sids) return;
  std::vector<uint64_t> stream = {file.levels.size(), file.variable_length ? 1u : 0u, file.id_type, file.sids,
                                  file.items};
  for (size_t l = 0; l < columns.size(); ++l) {
    stream.push_back(file.levels[l].codes);
    add(stream, columns[l].data(), columns[l].size() * sizeof(uint32_t));
  }
  const std::vector<uint64_t> offsets = numbers(file, SectionKind::ItemOffsets, -1);
  if (offsets.empty()) {
    stream.insert(stream.end(), {0, 0});
  } else {
    add(stream, offsets.data(), offsets.size() * sizeof(uint64_t));
  }
  add_ids(file, stream);
  const XXH128_hash_t hash = XXH3_128bits(stream.data(), stream.size() * sizeof(uint64_t));
  file.fingerprint_low = hash.low64;
  file.fingerprint_high = hash.high64;
}

}  // namespace fuzz
