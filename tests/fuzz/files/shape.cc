// SPDX-License-Identifier: Apache-2.0
#include "shape.h"

#include <algorithm>
#include <cstring>

#include <sidbeam/base.h>

#include "schemas/index_generated.h"

namespace fuzz {
namespace {

using sidbeam::format::Encoding;
using sidbeam::format::SectionKind;

struct Wanted {
  SectionKind kind;
  int level;
  Encoding encoding;
  uint64_t count;
  bool required;
};

struct Kinds {
  bool trie = false, columns = false, hash = false;
};

uint64_t units(uint64_t count, uint64_t of) { return count / of + (count % of != 0); }

Encoding position(uint64_t count) { return count >> 32 == 0 ? Encoding::U32 : Encoding::U64; }

class Wants {
 public:
  explicit Wants(const IndexFile& file) : file_(file), levels_(static_cast<int>(file.levels.size())) {}

  std::vector<Wanted> list(const Kinds& kinds) {
    if (kinds.trie) want_trie();
    for (int l = 0; l < levels_ && (kinds.columns || kinds.hash); ++l)
      want(SectionKind::Columns, l, code(symbols(l)), file_.sids);
    if (kinds.hash) want_hash();
    want_items();
    want_priorities();
    return std::move(list_);
  }

 private:
  void want(SectionKind kind, int level, Encoding encoding, uint64_t count, bool required = true) {
    list_.push_back({kind, level, encoding, count, required});
  }
  const FileLevel& level(int l) const { return file_.levels[static_cast<size_t>(l)]; }
  uint64_t symbols(int l) const { return uint64_t{level(l).codes} + (file_.variable_length ? 1 : 0); }
  static Encoding code(uint64_t count) { return count <= 65536 ? Encoding::U16 : Encoding::U32; }

  void want_tail(int tail) {
    uint64_t most = 0;
    for (int l = tail; l < levels_; ++l) most = std::max(most, symbols(l));
    const uint64_t count = file_.sids * static_cast<uint64_t>(levels_ - tail);
    const Encoding encoding = most <= 32768   ? Encoding::ItemColumnTail
                              : most <= 65536 ? Encoding::U16
                                              : Encoding::WideItemColumnTail;
    want(SectionKind::Tail, tail, encoding, count);
    if (encoding == Encoding::U16) want(SectionKind::TailSplits, tail, Encoding::Bits, units(count, 64));
    want(SectionKind::Ordinals, tail, position(file_.sids), level(tail).nodes + 1);
  }

  void want_masks(int l) {
    const uint64_t dense = level(l).dense_nodes, bits = uint64_t{level(l).codes} + 1;
    if (dense == 0) return;
    want(SectionKind::DenseNodes, l, Encoding::Bits, units(level(l).nodes, 64), false);
    want(SectionKind::DenseNodeRanks, l, Encoding::U32, units(level(l).nodes, 512), false);
    want(SectionKind::DenseMasks, l, Encoding::Bits, dense * units(bits, 64), false);
    want(SectionKind::DenseMaskRanks, l, Encoding::U32, dense * units(bits, 512), false);
  }

  void want_trie() {
    const int tail = file_.tail_level;
    uint64_t ends = 0;
    for (int l = 0; l < levels_; ++l) ends += level(l).ends;
    for (int l = 0; l < (tail > 0 ? tail : levels_); ++l) {
      want(SectionKind::RowPointers, l, position(level(l).edges), level(l).nodes + 1);
      want(SectionKind::Tokens, l, code(symbols(l)), level(l).edges);
      want_masks(l);
      if (level(l).nodes < units(file_.sids, 8))
        want(SectionKind::Ordinals, l, position(file_.sids), level(l).nodes + 1, false);
      if (level(l).ends == 0) continue;
      want(SectionKind::EndEdges, l, position(level(l).edges), level(l).ends);
      want(SectionKind::EndOrdinals, l, position(file_.sids), level(l).ends);
    }
    if (tail > 0) return want_tail(tail);
    if (ends > 0) want(SectionKind::EndOrdinals, -1, position(file_.sids), ends);
  }

  void want_hash() {
    uint64_t capacity = 8, product = 1;
    while (capacity < file_.sids * 2) capacity *= 2;
    bool fits = true;
    for (int l = 0; l < levels_; ++l) fits = fits && !__builtin_mul_overflow(product, symbols(l), &product);
    want(file_.hash_seed != 0 ? SectionKind::SeededHashKeys : SectionKind::HashKeys, -1,
         fits && product >> 63 == 0 ? Encoding::MixedRadix : Encoding::HashedKey, capacity);
    want(SectionKind::HashOrdinals, -1, position(file_.sids), capacity);
  }

  void want_items() {
    if (file_.items != file_.sids) want(SectionKind::ItemOffsets, -1, position(file_.items), file_.sids + 1);
    if (file_.id_type == 2) {
      const FileSection* names = file_.find(static_cast<uint16_t>(SectionKind::ItemNames), -1);
      want(SectionKind::ItemNameOffsets, -1, Encoding::U64, file_.items + 1);
      want(SectionKind::ItemNames, -1, Encoding::Bytes, names == nullptr ? file_.items : names->bytes.size());
    } else {
      want(SectionKind::ItemIds, -1, file_.id_type == 0 ? Encoding::I64 : Encoding::U64, file_.items);
    }
  }

  void want_priorities() {
    if (!file_.priorities || file_.priorities->least == file_.priorities->greatest) return;
    const uint64_t most =
        static_cast<uint64_t>(file_.priorities->greatest) - static_cast<uint64_t>(file_.priorities->least);
    want(SectionKind::ItemPriorities, -1, most <= 0xffff ? Encoding::U16 : position(most), file_.items, false);
  }

  const IndexFile& file_;
  int levels_;
  std::vector<Wanted> list_;
};

// Those of an attribute; `text`: bytes of its dictionary.
std::vector<Wanted> sections_of(const FileAttribute& attribute, uint64_t items, uint64_t text) {
  std::vector<Wanted> list;
  const auto want = [&list](SectionKind kind, Encoding encoding, uint64_t count) {
    list.push_back({kind, -1, encoding, count, false});
  };
  if (attribute.nulls > 0) want(SectionKind::AttributeValid, Encoding::Bits, units(items, 64));
  if (attribute.type == 1) want(SectionKind::AttributeIntegers, Encoding::I64, items);
  if (attribute.type == 2) want(SectionKind::AttributeNumbers, Encoding::F32, items);
  if (attribute.type == 3) want(SectionKind::AttributeBools, Encoding::Bits, units(items, 64));
  if (attribute.type < 4) return list;
  if (attribute.type == 5) want(SectionKind::AttributeOffsets, position(attribute.codes), items + 1);
  want(SectionKind::AttributeCodes, attribute.strings <= 65536 ? Encoding::U16 : Encoding::U32,
       attribute.type == 5 ? attribute.codes : items);
  want(SectionKind::DictionaryOffsets, Encoding::U64, attribute.strings + 1);
  want(SectionKind::DictionaryText, Encoding::Bytes, text);
  return list;
}

// The section of this kind that an attribute had.
const FileSection* old_section(const IndexFile& file, const FileAttribute& attribute, SectionKind kind) {
  for (size_t i = attribute.first_section; i < std::min<size_t>(file.sections.size(), attribute.first_section + 5u);
       ++i)
    if (file.sections[i].kind == static_cast<uint16_t>(kind)) return &file.sections[i];
  return nullptr;
}

// Elements that lead somewhere: rising by little, small, or noise.
void draw(std::vector<uint8_t>& bytes, size_t from, size_t width, Random& random) {
  const uint64_t form = random.below(4), most = 1 + random.skewed(12);
  uint64_t rising = 0;
  for (size_t at = from / width * width; at + width <= bytes.size(); at += width) {
    uint64_t value = random.next();
    if (form == 0) value = rising += random.below(3);
    if (form == 1) value %= most;
    if (form == 2) value = random.one_in(8) ? value : value % most;
    std::memcpy(bytes.data() + at, &value, width);
  }
}

FileSection section_of(const Wanted& wanted, const FileSection* old, Random& random) {
  FileSection section;
  if (old != nullptr) section = *old;
  section.kind = static_cast<uint16_t>(wanted.kind);
  section.encoding = static_cast<uint16_t>(wanted.encoding);
  section.level = static_cast<int16_t>(wanted.level);
  section.required = wanted.required;
  const size_t had = section.bytes.size(), width = element_bytes(section.encoding);
  section.bytes.resize(wanted.count * width);
  if (section.bytes.size() > had) draw(section.bytes, had, width, random);
  return section;
}

FileLevel random_level(const IndexFile& file, const FileLevel* above, bool last, uint64_t left, Random& random) {
  FileLevel level;
  const uint64_t one = 1;
  level.codes = static_cast<uint32_t>(random.one_in(8) ? 1 + random.skewed(20) % 0xfffff : 1 + random.skewed(9));
  level.nodes = above == nullptr ? 1 : above->edges;
  const uint64_t inner = level.nodes - (above == nullptr ? 0 : above->ends);
  level.edges = std::max(inner, std::min(left, inner + random.skewed(6)));
  if (last) level.edges = std::max(inner, left);
  level.edges = std::max(level.edges, one);
  if (file.variable_length && above != nullptr && random.one_in(2)) level.ends = random.below(level.edges);
  level.max_children = static_cast<uint32_t>(
      1 + random.below(std::min<uint64_t>(level.edges, uint64_t{level.codes} + (file.variable_length ? 1 : 0))));
  if (random.one_in(3)) level.dense_nodes = 1 + random.below(std::min<uint64_t>(level.nodes, 3));
  return level;
}

}  // namespace

size_t element_bytes(uint16_t encoding) {
  switch (static_cast<Encoding>(encoding)) {
    case Encoding::U16:
    case Encoding::ItemColumnTail:
      return 2;
    case Encoding::U32:
    case Encoding::WideItemColumnTail:
    case Encoding::F32:
      return 4;
    case Encoding::Bytes:
      return 1;
    default:
      return 8;
  }
}

bool conform(IndexFile& file, Random& random) {
  Kinds kinds;
  for (const FileSection& section : file.sections) {
    kinds.trie |= section.kind == static_cast<uint16_t>(SectionKind::RowPointers);
    kinds.columns |= section.kind == static_cast<uint16_t>(SectionKind::Columns);
    kinds.hash |= section.kind == static_cast<uint16_t>(SectionKind::HashKeys) ||
                  section.kind == static_cast<uint16_t>(SectionKind::SeededHashKeys);
  }
  // Counts whose sums and products below do not overflow.
  if (file.sids > kMostBytes || file.items > kMostBytes || file.levels.size() > SIDBEAM_MAX_LEVELS ||
      file.tail_level >= std::max<size_t>(file.levels.size(), 1))
    return false;
  for (const FileLevel& level : file.levels)
    if (level.nodes > kMostBytes || level.edges > kMostBytes || level.ends > kMostBytes ||
        level.dense_nodes > kMostBytes || level.codes > SIDBEAM_MAX_CODES)
      return false;
  std::vector<FileSection> sections;
  uint64_t total = 0;
  for (const Wanted& wanted : Wants(file).list(kinds)) {
    total += wanted.count * element_bytes(static_cast<uint16_t>(wanted.encoding)) + 64;
    if (total > kMostBytes) return false;
    const FileSection* old = file.find(static_cast<uint16_t>(wanted.kind), wanted.level);
    sections.push_back(section_of(wanted, old, random));
  }
  for (FileAttribute& attribute : file.attributes) {
    if (attribute.strings > kMostBytes || attribute.codes > kMostBytes) return false;
    const FileSection* text = old_section(file, attribute, SectionKind::DictionaryText);
    const auto first = static_cast<uint32_t>(sections.size());
    for (const Wanted& wanted :
         sections_of(attribute, file.items, text == nullptr ? attribute.strings : text->bytes.size())) {
      total += wanted.count * element_bytes(static_cast<uint16_t>(wanted.encoding)) + 64;
      if (total > kMostBytes) return false;
      sections.push_back(section_of(wanted, old_section(file, attribute, wanted.kind), random));
    }
    attribute.first_section = first;
  }
  for (FileSection& section : file.sections)
    if (section.kind > static_cast<uint16_t>(SectionKind::MAX)) sections.push_back(std::move(section));
  file.sections = std::move(sections);
  place(file, random);
  return file.file_bytes <= kMostBytes;
}

IndexFile random_file(Random& random) {
  IndexFile file;
  const uint64_t kinds = 1 + random.below(7),
                 levels = random.one_in(16) ? 1 + random.below(SIDBEAM_MAX_LEVELS) : 1 + random.below(5);
  file.variable_length = random.one_in(2);
  const uint64_t aim = 1 + random.skewed(8);
  for (uint64_t l = 0; l < levels; ++l)
    file.levels.push_back(random_level(file, l == 0 ? nullptr : &file.levels.back(), l + 1 == levels, aim, random));
  file.sids = file.levels.back().edges;
  for (size_t l = 0; l + 1 < levels; ++l) file.sids += file.levels[l].ends;
  for (FileLevel& level : file.levels) level.edges = std::min(level.edges, file.sids);
  if (random.one_in(2)) file.items = file.sids + 1 + random.skewed(4);
  if (file.items < file.sids) file.items = file.sids;
  file.collisions = file.items > file.sids ? 1 : 0;
  file.max_items_per_sid = file.items > file.sids ? 2 : 1;
  file.longest = static_cast<uint16_t>(levels);
  file.shortest = file.variable_length ? 1 : file.longest;
  file.id_type = static_cast<uint8_t>(random.below(3));
  if ((kinds & 1) != 0 && levels > 1 && random.one_in(2))
    file.tail_level = static_cast<uint8_t>(1 + random.below(levels - 1));
  for (size_t l = 0; l < levels; ++l)
    if ((kinds & 1) == 0 || (file.tail_level > 0 && l >= file.tail_level)) file.levels[l].dense_nodes = 0;
  if ((kinds & 4) != 0 && random.one_in(2)) {
    file.hash_seed = 1 + random.below(9);
    file.own_hash_seed = true;
  }
  // What conform() goes by.
  constexpr SectionKind kMarks[] = {SectionKind::RowPointers, SectionKind::Columns, SectionKind::HashKeys};
  for (size_t i = 0; i < 3; ++i) {
    if ((kinds >> i & 1) == 0) continue;
    file.sections.emplace_back();
    file.sections.back().kind = static_cast<uint16_t>(kMarks[i]);
  }
  if (!conform(file, random)) return random_file(random);
  return file;
}

}  // namespace fuzz
