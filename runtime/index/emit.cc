// SPDX-License-Identifier: Apache-2.0
#include "index/emit.h"

#include <algorithm>
#include <cstring>

#include "index/emit_tail.h"
#include "index/lookup.h"
#include "index/progress.h"
#include "index/trie.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

using format::SectionKind;

// An array of unsigned integers of 2, 4 or 8 bytes to be written; UintArray is its reader.
struct UintOut {
  uint8_t* data = nullptr;
  uint64_t width = 0;

  explicit operator bool() const { return data != nullptr; }
  void set(uint64_t i, uint64_t value) const {
    if (width == 2) {
      reinterpret_cast<uint16_t*>(data)[i] = static_cast<uint16_t>(value);
    } else if (width == 4) {
      reinterpret_cast<uint32_t*>(data)[i] = static_cast<uint32_t>(value);
    } else {
      reinterpret_cast<uint64_t*>(data)[i] = value;
    }
  }
};

struct Emission {
  const Catalogue& catalogue;
  const SortedCatalogue& sorted;
  const Scan& scan;
  const std::vector<Section>& sections;
  uint8_t* base;
  IndexView view;

  uint8_t* bytes(SectionKind kind, int level) const {
    for (const Section& section : sections) {
      if (section.spec.kind == kind && section.spec.level == level) return base + section.offset;
    }
    return nullptr;
  }
  UintOut array(SectionKind kind, int level) const {
    for (const Section& section : sections) {
      if (section.spec.kind != kind || section.spec.level != level) continue;
      const uint64_t width = section.spec.encoding == format::Encoding::U16   ? 2
                             : section.spec.encoding == format::Encoding::U32 ? 4
                                                                              : 8;
      return {base + section.offset, width};
    }
    return {};
  }
};

struct LevelOut {
  UintOut row_pointers, tokens, ordinals, end_edges, end_ordinals;
};

// SIDs [begin, end), the chunk-th chunk: the edges of `level` that begin with them and the nodes that these leave.
void emit_trie(const Emission& emission, int level, const LevelOut out, int64_t chunk, int64_t begin, int64_t end) {
  const SortedCatalogue& sorted = emission.sorted;
  const auto c = static_cast<size_t>(chunk), l = static_cast<size_t>(level);
  const bool may_end = sorted.layout.variable_length;
  const CodeColumn column = sorted.column(level);
  const CodeColumn above = sorted.column(std::max(level - 1, 0)), second_above = sorted.column(std::max(level - 2, 0));
  const uint8_t* first_new = sorted.first_new.data();
  uint64_t edge = emission.scan.starts[l].edges[c], ends = emission.scan.starts[l].ends[c];
  uint64_t node = level == 0 ? 0 : emission.scan.starts[l - 1].edges[c];
  for (int64_t i = begin; i < end; ++i) {
    const int first = first_new[i];
    if (first > level) continue;
    if (first < level || i == 0) {
      if (may_end && level > 1 && second_above.is_end(i)) continue;  // ended before: no node
      out.row_pointers.set(node, edge);
      if (out.ordinals) out.ordinals.set(node, static_cast<uint64_t>(i));
      ++node;
    }
    if (may_end && level > 0 && above.is_end(i)) continue;  // the node is an end: no edge
    const uint32_t code = column[i];
    out.tokens.set(edge, code);
    if (code == column.end) {
      out.end_edges.set(ends, edge);
      out.end_ordinals.set(ends, static_cast<uint64_t>(i));
      ++ends;
    }
    ++edge;
  }
}

void emit_merged_ends(const Emission& emission, UintOut out, int64_t chunk, int64_t begin, int64_t end) {
  const CodeColumn last = emission.sorted.column(emission.sorted.layout.levels - 1);
  uint64_t ends = 0;
  for (const LevelStarts& level : emission.scan.starts) ends += level.ends[static_cast<size_t>(chunk)];
  for (int64_t i = begin; i < end; ++i) {
    if (last.is_end(i)) out.set(ends++, static_cast<uint64_t>(i));
  }
}

void emit_all_tries(const Emission& emission, int threads, Progress& progress) {
  const int levels = emission.view.csr_levels;
  std::vector<LevelOut> out(static_cast<size_t>(levels));
  for (int l = 0; l < levels; ++l) {
    LevelOut& level = out[static_cast<size_t>(l)];
    level = {emission.array(SectionKind::RowPointers, l), emission.array(SectionKind::Tokens, l),
             emission.array(SectionKind::Ordinals, l), emission.array(SectionKind::EndEdges, l),
             emission.array(SectionKind::EndOrdinals, l)};
    level.row_pointers.set(emission.view.level[l].nodes, emission.view.level[l].edges);
    if (level.ordinals) level.ordinals.set(emission.view.level[l].nodes, emission.view.sids);
  }
  const UintOut merged = emission.array(SectionKind::EndOrdinals, -1);
  const auto chunks = static_cast<int64_t>(divide_up(emission.view.sids, kChunk));
  // By chunk first, so that what one task read of a chunk is still in the cache for the next.
  parallel_for(threads, chunks * levels, [&](int64_t task) {
    const auto level = static_cast<int>(task % levels);
    const int64_t chunk = task / levels, begin = chunk * kChunk, end = std::min(emission.sorted.sids, begin + kChunk);
    emit_trie(emission, level, out[static_cast<size_t>(level)], chunk, begin, end);
    if (level == 0 && merged) emit_merged_ends(emission, merged, chunk, begin, end);
    progress.advance(end - begin);
  });
}

void emit_columns(const Emission& emission, int threads, Progress& progress) {
  const int levels = emission.view.levels;
  std::vector<UintOut> out;
  for (int l = 0; l < levels; ++l) out.push_back(emission.array(SectionKind::Columns, l));
  const auto chunks = static_cast<int64_t>(divide_up(emission.view.sids, kChunk));
  parallel_for(threads, chunks * levels, [&](int64_t task) {
    const auto level = static_cast<int>(task % levels);
    const int64_t begin = task / levels * kChunk, end = std::min(emission.sorted.sids, begin + kChunk);
    const CodeColumn column = emission.sorted.column(level);
    const UintOut to = out[static_cast<size_t>(level)];
    for (int64_t i = begin; i < end; ++i) to.set(static_cast<uint64_t>(i), column[i]);
    progress.advance(end - begin);
  });
}

void emit_dense_mask(const LevelView& level, const Row& row, uint64_t* mask, uint32_t* ranks) {
  std::fill(mask, mask + level.mask_words(), 0);
  for (uint64_t edge = row.begin; edge < row.begin + row.count; ++edge) {
    const uint64_t token = level.tokens[edge];
    mask[token / 64] |= uint64_t{1} << token % 64;
  }
  uint32_t rank = 0;
  for (uint64_t w = 0; w < level.mask_words(); ++w) {
    if (w % (kRankBits / 64) == 0) ranks[w / (kRankBits / 64)] = rank;
    rank += static_cast<uint32_t>(__builtin_popcountll(mask[w]));
  }
}

void emit_dense(const Emission& emission, int l) {
  const LevelView& level = emission.view.level[l];
  if (level.dense_nodes == 0) return;
  auto* bits = reinterpret_cast<uint64_t*>(emission.bytes(SectionKind::DenseNodes, l));
  auto* node_ranks = reinterpret_cast<uint32_t*>(emission.bytes(SectionKind::DenseNodeRanks, l));
  auto* masks = reinterpret_cast<uint64_t*>(emission.bytes(SectionKind::DenseMasks, l));
  auto* mask_ranks = reinterpret_cast<uint32_t*>(emission.bytes(SectionKind::DenseMaskRanks, l));
  std::fill(bits, bits + divide_up(level.nodes, 64), 0);
  uint64_t dense = 0;
  for (uint64_t node = 0; node < level.nodes; ++node) {
    if (node % kRankBits == 0) node_ranks[node / kRankBits] = static_cast<uint32_t>(dense);
    const Row row = row_of(level, node);
    if (!is_dense(row.count, level.codes)) continue;
    bits[node / 64] |= uint64_t{1} << node % 64;
    emit_dense_mask(level, row, masks + dense * level.mask_words(), mask_ranks + dense * level.mask_rank_count());
    ++dense;
  }
}

void emit_hash(const Emission& emission, Progress& progress) {
  auto* keys = reinterpret_cast<uint64_t*>(emission.bytes(SectionKind::HashKeys, -1));
  const UintOut ordinals = emission.array(SectionKind::HashOrdinals, -1);
  const uint64_t slots = emission.view.hash.capacity - 1;
  std::fill(keys, keys + slots + 1, ~uint64_t{0});
  std::fill_n(static_cast<uint8_t*>(ordinals.data), (slots + 1) * ordinals.width, uint8_t{0});
  constexpr int64_t kBatch = 64;  // slots whose cache misses overlap
  const int64_t sids = emission.sorted.sids;
  std::vector<CodeColumn> columns;
  for (int l = 0; l < emission.view.levels; ++l) columns.push_back(emission.sorted.column(l));
  for (int64_t begin = 0; begin < sids; begin += kBatch) {
    const int64_t end = std::min(sids, begin + kBatch);
    uint64_t batch[kBatch];
    for (int64_t i = begin; i < end; ++i) {
      int32_t codes[kMaxLevels];
      for (size_t l = 0; l < columns.size(); ++l) codes[l] = static_cast<int32_t>(columns[l][i]);
      batch[i - begin] = hash_key(emission.view, codes);
      __builtin_prefetch(keys + (mix64(batch[i - begin]) & slots), 1);
    }
    for (int64_t i = begin; i < end; ++i) {
      uint64_t slot = mix64(batch[i - begin]) & slots;
      while (keys[slot] != ~uint64_t{0}) slot = (slot + 1) & slots;
      keys[slot] = batch[i - begin];
      ordinals.set(slot, static_cast<uint64_t>(i));
    }
    if (end % kChunk == 0 || end == sids) progress.advance(end - (end - 1) / kChunk * kChunk);
  }
}

void emit_names(const Emission& emission) {
  auto* offsets = reinterpret_cast<uint64_t*>(emission.bytes(SectionKind::ItemNameOffsets, -1));
  uint8_t* bytes = emission.bytes(SectionKind::ItemNames, -1);
  uint64_t offset = 0;
  for (int64_t item = 0; item < emission.sorted.items; ++item) {
    const std::string_view name = emission.catalogue.names[emission.sorted.ids[item]];
    offsets[item] = offset;
    if (!name.empty()) std::memcpy(bytes + offset, name.data(), name.size());
    offset += name.size();
  }
  offsets[emission.sorted.items] = offset;
}

void emit_item_offsets(const Emission& emission) {
  const UintOut out = emission.array(SectionKind::ItemOffsets, -1);
  for (int64_t i = 0; out && i <= emission.sorted.sids; ++i)
    out.set(static_cast<uint64_t>(i), static_cast<uint64_t>(emission.sorted.item_offsets[i]));
}

void emit_ids(const Emission& emission, int threads, Progress& progress) {
  uint8_t* out = emission.bytes(SectionKind::ItemIds, -1);
  const int64_t items = emission.sorted.items;
  parallel_for(threads, static_cast<int64_t>(divide_up(emission.view.items, kChunk)), [&](int64_t chunk) {
    const int64_t begin = chunk * kChunk, count = std::min(kChunk, items - begin);
    std::memcpy(out + begin * 8, emission.sorted.ids.data() + begin, static_cast<size_t>(count) * 8);
    progress.advance(count);
  });
}

}  // namespace

void emit_sections(const Catalogue& catalogue, const SortedCatalogue& sorted, const Scan& scan,
                   const std::vector<Section>& sections, uint8_t* base, const sidbeam_builder_config& config,
                   int threads) {
  const Shape& shape = scan.header.shape;
  const Emission emission{catalogue, sorted, scan, sections, base, view_of(shape, sections, base)};
  const int tail = shape.tail_level > 0 ? 1 : 0;
  const int passes = shape.trie * (shape.csr_levels() + tail) + shape.levels * shape.columns + shape.hash;
  Progress progress(config, SIDBEAM_PHASE_EMIT, sorted.sids * passes + sorted.items);
  if (shape.trie) emit_all_tries(emission, threads, progress);
  if (tail != 0) emit_tail(sorted, scan, sections, base, threads, progress);
  if (shape.columns) emit_columns(emission, threads, progress);
  if (shape.id_type != IdType::kString) emit_ids(emission, threads, progress);
  // On this thread, which reports progress: it is long and cannot be divided.
  if (shape.hash) emit_hash(emission, progress);
  // Parts that are one task each.
  parallel_for(threads, shape.levels + 2, [&](int64_t task) {
    if (task == 0) {
      if (shape.id_type == IdType::kString) emit_names(emission);
    } else if (task == 1) {
      emit_item_offsets(emission);
    } else {
      emit_dense(emission, static_cast<int>(task) - 2);
    }
  });
  progress.advance(0);  // what other threads did last
}

}  // namespace sidbeam
