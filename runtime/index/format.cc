// SPDX-License-Identifier: Apache-2.0
#include "index/format.h"

#include <algorithm>
#include <bit>

#include "index/hash_seed.h"
#include "index/index.h"
#include "sidbeam/builder.h"

namespace sidbeam {
namespace {

using format::Encoding;
using format::SectionKind;

class SpecList {
 public:
  void add(SectionKind kind, int level, Encoding encoding, uint64_t count, bool required = true) {
    specs_.push_back({kind, encoding, level, count * element_bytes(encoding), required});
  }
  std::vector<SectionSpec> take() { return std::move(specs_); }

 private:
  std::vector<SectionSpec> specs_;
};

// Where there is room, a code of the tail shares its element with the split bit, so that one read gets both.
void add_tail(const Shape& shape, SpecList& list) {
  const int tail = shape.tail_level;
  uint64_t symbols = 0;
  for (int l = tail; l < shape.levels; ++l) symbols = std::max(symbols, shape.symbols(l));
  const uint64_t entries = shape.tail_entries();
  if (symbols <= uint64_t{1} << 15) {
    list.add(SectionKind::Tail, tail, Encoding::ItemColumnTail, entries);
  } else if (symbols <= uint64_t{1} << 16) {
    list.add(SectionKind::Tail, tail, Encoding::U16, entries);
    list.add(SectionKind::TailSplits, tail, Encoding::Bits, divide_up(entries, 64));
  } else {
    list.add(SectionKind::Tail, tail, Encoding::WideItemColumnTail, entries);
  }
}

void add_trie(const Shape& shape, SpecList& list) {
  const auto by_level = [&](auto&& add) {
    for (int l = 0; l < shape.csr_levels(); ++l) add(l, shape.level[l]);
  };
  by_level([&](int l, const LevelShape& level) {
    list.add(SectionKind::RowPointers, l, position_encoding(level.edges), level.nodes + 1);
  });
  by_level([&](int l, const LevelShape& level) {
    list.add(SectionKind::Tokens, l, code_encoding(shape.symbols(l)), level.edges);
  });
  if (shape.tail_level > 0) add_tail(shape, list);
  by_level([&](int l, const LevelShape& level) {
    if (level.dense_nodes == 0) return;
    const uint64_t bits = uint64_t{level.codes} + 1;
    list.add(SectionKind::DenseNodes, l, Encoding::Bits, divide_up(level.nodes, 64), false);
    list.add(SectionKind::DenseNodeRanks, l, Encoding::U32, divide_up(level.nodes, kRankBits), false);
    list.add(SectionKind::DenseMasks, l, Encoding::Bits, level.dense_nodes * divide_up(bits, 64), false);
    list.add(SectionKind::DenseMaskRanks, l, Encoding::U32, level.dense_nodes * divide_up(bits, kRankBits), false);
  });
  by_level([&](int l, const LevelShape& level) {
    // Deeper levels walk down the row pointers instead: an array there would cost more than it saves.
    if (level.nodes >= divide_up(shape.sids, 8)) return;
    list.add(SectionKind::Ordinals, l, position_encoding(shape.sids), level.nodes + 1, false);
  });
  // Leads from the nodes of the last level above the tail to their SIDs.
  if (shape.tail_level > 0)
    list.add(SectionKind::Ordinals, shape.tail_level, position_encoding(shape.sids),
             shape.level[shape.tail_level].nodes + 1);
  by_level([&](int l, const LevelShape& level) {
    if (level.ends == 0) return;
    list.add(SectionKind::EndEdges, l, position_encoding(level.edges), level.ends);
    list.add(SectionKind::EndOrdinals, l, position_encoding(shape.sids), level.ends);
  });
  // Tells which full-length SID an edge of the last level is. With a tail, states are ordinals already.
  if (shape.ends() != 0 && shape.tail_level == 0)
    list.add(SectionKind::EndOrdinals, -1, position_encoding(shape.sids), shape.ends());
}

void add_items(const Shape& shape, SpecList& list) {
  if (shape.items != shape.sids) list.add(SectionKind::ItemOffsets, -1, position_encoding(shape.items), shape.sids + 1);
  if (shape.id_type == IdType::kString) {
    list.add(SectionKind::ItemNameOffsets, -1, Encoding::U64, shape.items + 1);
    list.add(SectionKind::ItemNames, -1, Encoding::Bytes, shape.name_bytes);
  } else {
    list.add(SectionKind::ItemIds, -1, shape.id_type == IdType::kI64 ? Encoding::I64 : Encoding::U64, shape.items);
  }
  if (shape.has_priority_section())
    list.add(SectionKind::ItemPriorities, -1, priority_encoding(*shape.priorities), shape.items, false);
}

// The level of a section of unknown kind may be anything.
void set_view(const SectionSpec& spec, const void* data, IndexView& view) {
  if (!is_known(spec.kind) || is_attribute(spec.kind)) return;
  LevelView& level = view.level[spec.level < 0 ? 0 : spec.level];
  const UintArray array{data, data != nullptr ? static_cast<int32_t>(element_bytes(spec.encoding)) : 0};
  switch (spec.kind) {
    case SectionKind::RowPointers:
      level.row_pointers = array;
      break;
    case SectionKind::Tokens:
      level.tokens = array;
      break;
    case SectionKind::DenseNodes:
      level.dense_bits = static_cast<const uint64_t*>(data);
      break;
    case SectionKind::DenseNodeRanks:
      level.dense_ranks = static_cast<const uint32_t*>(data);
      break;
    case SectionKind::DenseMasks:
      level.masks = static_cast<const uint64_t*>(data);
      break;
    case SectionKind::DenseMaskRanks:
      level.mask_ranks = static_cast<const uint32_t*>(data);
      break;
    case SectionKind::Ordinals:
      level.ordinals = array;
      break;
    case SectionKind::EndEdges:
      level.end_edges = array;
      break;
    case SectionKind::EndOrdinals:
      (spec.level < 0 ? view.end_ordinals : level.end_ordinals) = array;
      break;
    case SectionKind::Columns:
      level.column = array;
      break;
    case SectionKind::HashKeys:
    case SectionKind::SeededHashKeys:
      view.hash.keys = static_cast<const uint64_t*>(data);
      view.hash.hashed = spec.encoding == Encoding::HashedKey;
      break;
    case SectionKind::HashOrdinals:
      view.hash.ordinals = array;
      break;
    case SectionKind::ItemOffsets:
      view.item_offsets = array;
      break;
    case SectionKind::ItemIds:
      view.ids = static_cast<const int64_t*>(data);
      break;
    case SectionKind::ItemNameOffsets:
      view.name_offsets = static_cast<const uint64_t*>(data);
      break;
    case SectionKind::ItemNames:
      view.names = static_cast<const char*>(data);
      break;
    case SectionKind::Tail:
      view.tail.tokens = array;
      break;
    case SectionKind::TailSplits:
      view.tail.splits = static_cast<const uint64_t*>(data);
      break;
    default:
      break;
  }
}

}  // namespace

bool is_known(SectionKind kind) { return kind > SectionKind::None && kind <= SectionKind::MAX; }

bool is_attribute(SectionKind kind) {
  return kind >= SectionKind::AttributeValid && kind <= SectionKind::DictionaryText;
}

Encoding code_encoding(uint64_t symbols) { return symbols <= uint64_t{1} << 16 ? Encoding::U16 : Encoding::U32; }

Encoding priority_encoding(const PriorityRange& range) {
  return range.span() < uint64_t{1} << 16 ? Encoding::U16 : position_encoding(range.span());
}

Encoding position_encoding(uint64_t count) { return count < uint64_t{1} << 32 ? Encoding::U32 : Encoding::U64; }

uint64_t element_bytes(Encoding encoding) {
  switch (encoding) {
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

uint64_t Shape::ends() const {
  uint64_t sum = 0;
  for (int l = 0; l < levels; ++l) sum += level[l].ends;
  return sum;
}

std::vector<SectionSpec> sections_of(const Shape& shape) {
  SpecList list;
  if (shape.trie) add_trie(shape, list);
  for (int l = 0; l < shape.levels && shape.columns; ++l)
    list.add(SectionKind::Columns, l, code_encoding(shape.symbols(l)), shape.sids);
  if (shape.hash) {
    const uint64_t capacity = hash_capacity(shape.sids);
    list.add(shape.hash_seed != 0 ? SectionKind::SeededHashKeys : SectionKind::HashKeys, -1,
             has_mixed_radix(shape) ? Encoding::MixedRadix : Encoding::HashedKey, capacity);
    list.add(SectionKind::HashOrdinals, -1, position_encoding(shape.sids), capacity);
  }
  add_items(shape, list);
  return list.take();
}

uint64_t place_sections(uint64_t header_bytes, std::vector<Section>& sections) {
  uint64_t end = sizeof(Preamble) + header_bytes;
  for (Section& section : sections) {
    const bool large = section.spec.length >= kLargeSection;
    section.offset = align_up(end, large ? kLargeSectionAlignment : kSectionAlignment);
    end = section.offset + section.spec.length;
  }
  return align_up(end, kSectionAlignment);
}

IndexView view_of(const Shape& shape, const std::vector<Section>& sections, const uint8_t* base) {
  IndexView view;
  view.sids = shape.sids;
  view.items = shape.items;
  view.levels = shape.levels;
  view.variable_length = shape.variable_length;
  view.has_trie = shape.trie;
  view.has_columns = shape.columns;
  view.csr_levels = shape.csr_levels();
  view.ends = shape.tail_level > 0 ? 0 : shape.ends();
  view.id_type = shape.id_type;
  view.name_bytes = shape.name_bytes;
  if (shape.hash) {
    view.hash.capacity = hash_capacity(shape.sids);
    view.hash.seed = shape.hash_seed;
    view.hash.mix = key_mix(shape.hash_seed);
    view.hash.probes = shape.hash_seed != 0 ? std::min(kMostProbes, view.hash.capacity) : view.hash.capacity;
  }
  for (int l = 0; l < shape.levels; ++l) {
    const LevelShape& from = shape.level[l];
    LevelView& to = view.level[l];
    to.codes = from.codes;
    to.max_children = from.max_children;
    to.nodes = from.nodes;
    to.edges = from.edges;
    to.ends = from.ends;
    to.dense_nodes = from.dense_nodes;
  }
  for (const Section& section : sections) set_view(section.spec, base + section.offset, view);
  return view;
}

PrioritiesView priorities_of(const Shape& shape, const std::vector<Section>& sections, const uint8_t* base) {
  PrioritiesView view;
  if (!shape.priorities) return view;
  view.kept = true;
  view.least = shape.priorities->least;
  view.greatest = shape.priorities->greatest;
  for (const Section& section : sections)
    if (section.spec.kind == SectionKind::ItemPriorities)
      view.above = {base + section.offset, static_cast<int32_t>(element_bytes(section.spec.encoding))};
  return view;
}

bool is_read(const SectionInfo& section, int32_t kinds) {
  switch (static_cast<SectionKind>(section.kind)) {
    case SectionKind::ItemOffsets:
      return true;
    case SectionKind::Columns:
      return (kinds & SIDBEAM_KIND_SORTED) != 0;
    case SectionKind::HashKeys:
    case SectionKind::SeededHashKeys:
    case SectionKind::HashOrdinals:
      return (kinds & SIDBEAM_KIND_HASH) != 0;
    case SectionKind::None:
    case SectionKind::ItemIds:
    case SectionKind::ItemNameOffsets:
    case SectionKind::ItemNames:
    case SectionKind::ItemPriorities:
      return false;
    default:
      return section.kind <= static_cast<uint16_t>(SectionKind::MAX) &&
             !is_attribute(static_cast<SectionKind>(section.kind)) && (kinds & SIDBEAM_KIND_TRIE) != 0;
  }
}

void place_section(const SectionInfo& section, const void* data, IndexView& view) {
  set_view(
      {static_cast<SectionKind>(section.kind), static_cast<Encoding>(section.encoding), section.level, section.bytes},
      data, view);
}

void set_kinds(int32_t kinds, Shape& shape) {
  if (kinds == 0) kinds = SIDBEAM_KIND_TRIE;
  shape.trie = (kinds & (SIDBEAM_KIND_TRIE | SIDBEAM_KIND_COMPACT_TRIE)) != 0;
  shape.hash = (kinds & SIDBEAM_KIND_HASH) != 0;
  shape.hash_seed = shape.hash ? hash_seed(0) : 0;
  shape.columns = shape.hash || (kinds & SIDBEAM_KIND_SORTED) != 0;
}

uint64_t hash_capacity(uint64_t sids) { return std::bit_ceil(sids * 2 < 8 ? 8 : sids * 2); }

bool has_mixed_radix(const Shape& shape) {
  uint64_t product = 1;
  for (int l = 0; l < shape.levels; ++l) {
    if (__builtin_mul_overflow(product, shape.symbols(l), &product) || product >> 63 != 0) return false;
  }
  return true;
}

}  // namespace sidbeam
