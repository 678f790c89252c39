// SPDX-License-Identifier: Apache-2.0
#include "index/build/emit.h"

#include <algorithm>
#include <cstring>

#include "index/build/emit_attributes.h"
#include "index/build/emit_hash.h"
#include "index/build/emit_tail.h"
#include "index/build/progress.h"
#include "index/build/uint_out.h"
#include "index/trie.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

using format::SectionKind;

struct Emission {
  const Catalogue& catalogue;
  const SortedCatalogue& sorted;
  const LevelScan& scan;
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

// Where the next elements of a level go.
struct Cursor {
  uint64_t edge = 0, node = 0, end = 0;
};

// SIDs [begin, end), few enough for the first-level cache, and the levels that each of them changes.
struct Block {
  int64_t begin, end;
  const uint8_t *first, *last;  // per SID: the first new level, and the last level with an edge
  uint8_t least_first, most_first;
};

template <class T>
void convert(const CodeColumn& column, int64_t begin, int64_t end, T* out) {
  for (int64_t i = begin; i < end; ++i) out[i - begin] = static_cast<T>(column[i]);
}

// Writes the tokens of the edges that begin in a block, and the row pointers of the nodes. Every SID writes to the next
// free element, and the next SID overwrites it unless the edge or node begins here: branches would be unpredictable.
// The output goes through buffers because the last surplus write must not reach into the next chunk.
template <class Token, class Position, bool kVariable>
void emit_block(const Block& block, int level, const CodeColumn& column, const LevelOut& out, Cursor& at) {
  Token tokens[kCachedSids];
  Position pointers[kCachedSids];
  const int64_t count = block.end - block.begin;
  int64_t edges = 0, nodes = 0;
  if (!kVariable && block.most_first <= level) {  // each SID begins an edge
    convert(column, block.begin, block.end, tokens);
    edges = count;
    if (block.most_first < level) {
      for (; nodes < count; ++nodes) pointers[nodes] = static_cast<Position>(at.edge + static_cast<uint64_t>(nodes));
    } else {
      for (int64_t i = 0; i < count; ++i) {
        pointers[nodes] = static_cast<Position>(at.edge + static_cast<uint64_t>(i));
        nodes += block.first[i] < level;
      }
    }
  } else {
    for (int64_t i = 0; i < count; ++i) {
      const int first = block.first[i], last = kVariable ? block.last[i] : level;
      tokens[edges] = static_cast<Token>(column[block.begin + i]);
      pointers[nodes] = static_cast<Position>(at.edge + static_cast<uint64_t>(edges));
      edges += static_cast<int>(first <= level) & static_cast<int>(level <= last);
      nodes += static_cast<int>(first < level) & static_cast<int>(level <= last + 1);
    }
  }
  const auto copy = [](const UintOut& to, uint64_t place, const auto* from, int64_t n) {
    std::memcpy(to.data + place * sizeof *from, from, static_cast<size_t>(n) * sizeof *from);
  };
  copy(out.tokens, at.edge, tokens, edges);
  copy(out.row_pointers, at.node, pointers, nodes);
  at.edge += static_cast<uint64_t>(edges);
  at.node += static_cast<uint64_t>(nodes);
}

template <class Token, class Position>
void emit_block(bool variable, const Block& block, int level, const CodeColumn& column, const LevelOut& out,
                Cursor& at) {
  (variable ? emit_block<Token, Position, true> : emit_block<Token, Position, false>)(block, level, column, out, at);
}

// Writes the ordinals of the nodes. Only levels with few nodes have them.
void emit_ordinals(const Block& block, int level, const UintOut& out, uint64_t node) {
  if (!out || block.least_first >= level) return;
  for (int64_t i = block.begin; i < block.end; ++i) {
    if (block.first[i - block.begin] < level && level <= block.last[i - block.begin] + 1)
      out.set(node++, static_cast<uint64_t>(i));
  }
}

void emit_ends(const Block& block, int level, const CodeColumn& column, const LevelOut& out, Cursor at,
               uint64_t& ends) {
  for (int64_t i = block.begin; i < block.end; ++i) {
    if (block.first[i - block.begin] > level || level > block.last[i - block.begin]) continue;
    if (column.is_end(i)) {
      out.end_edges.set(ends, at.edge);
      out.end_ordinals.set(ends, static_cast<uint64_t>(i));
      ++ends;
    }
    ++at.edge;
  }
}

void emit_level(const Emission& emission, const Block& block, int level, const LevelOut& out, Cursor& at) {
  const CodeColumn column = emission.sorted.column(level);
  const bool variable = emission.sorted.layout.variable_length;
  emit_ordinals(block, level, out.ordinals, at.node);
  if (out.end_edges) emit_ends(block, level, column, out, at, at.end);
  if (block.least_first > level) return;
  if (out.tokens.width == 2 && out.row_pointers.width == 4) {
    emit_block<uint16_t, uint32_t>(variable, block, level, column, out, at);
  } else if (out.tokens.width == 2) {
    emit_block<uint16_t, uint64_t>(variable, block, level, column, out, at);
  } else if (out.row_pointers.width == 4) {
    emit_block<uint32_t, uint32_t>(variable, block, level, column, out, at);
  } else {
    emit_block<uint32_t, uint64_t>(variable, block, level, column, out, at);
  }
}

// Writes the edges and nodes of all levels that begin with the SIDs of a chunk.
void emit_trie(const Emission& emission, const std::vector<LevelOut>& out, int64_t chunk) {
  const SortedCatalogue& sorted = emission.sorted;
  const auto levels = static_cast<int>(out.size());
  const auto c = static_cast<size_t>(chunk);
  Cursor at[kMaxLevels];
  for (int l = 0; l < levels; ++l) {
    const LevelStarts& starts = emission.scan.starts[static_cast<size_t>(l)];
    at[l].edge = starts.edges[c];
    at[l].end = starts.ends[c];
    at[l].node = l == 0 ? 0 : emission.scan.starts[static_cast<size_t>(l) - 1].edges[c];
  }
  uint8_t last[kCachedSids];
  sorted.last_levels(0, std::min(sorted.sids, kCachedSids),
                     last);  // with fixed lengths these values hold for every block
  const int64_t end = std::min(sorted.sids, (chunk + 1) * kTaskSids);
  for (int64_t begin = chunk * kTaskSids; begin < end; begin += kCachedSids) {
    const uint8_t* first = sorted.first_new.data() + begin;
    Block block{begin, std::min(end, begin + kCachedSids), first, last, 255, 0};
    if (sorted.layout.variable_length) sorted.last_levels(begin, block.end, last);
    for (int64_t i = 0; i < block.end - begin; ++i) {
      block.least_first = std::min(block.least_first, first[i]);
      block.most_first = std::max(block.most_first, first[i]);
    }
    for (int l = 0; l < levels; ++l) emit_level(emission, block, l, out[static_cast<size_t>(l)], at[l]);
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
  // SID 0 begins the root. No SID has a new level above level 0, so nothing else writes these entries.
  out[0].row_pointers.set(0, 0);
  if (out[0].ordinals) out[0].ordinals.set(0, 0);
  const UintOut merged = emission.array(SectionKind::EndOrdinals, -1);
  parallel_for(threads, static_cast<int64_t>(divide_up(emission.view.sids, kTaskSids)), [&](int64_t chunk) {
    const int64_t begin = chunk * kTaskSids, end = std::min(emission.sorted.sids, begin + kTaskSids);
    emit_trie(emission, out, chunk);
    if (merged) emit_merged_ends(emission, merged, chunk, begin, end);
    progress.advance((end - begin) * levels);
  });
}

void emit_columns(const Emission& emission, int threads, Progress& progress) {
  const int levels = emission.view.levels;
  const auto chunks = static_cast<int64_t>(divide_up(emission.view.sids, kTaskSids));
  std::vector<UintOut> out;
  for (int l = 0; l < levels; ++l) out.push_back(emission.array(SectionKind::Columns, l));
  // Tasks go by chunk first, so that the next task finds the chunk still in the cache.
  parallel_for(threads, chunks * levels, [&](int64_t task) {
    const auto level = static_cast<int>(task % levels);
    const int64_t begin = task / levels * kTaskSids, end = std::min(emission.sorted.sids, begin + kTaskSids);
    const CodeColumn column = emission.sorted.column(level);
    const UintOut to = out[static_cast<size_t>(level)];
    if (to.width == 2) {
      convert(column, begin, end, reinterpret_cast<uint16_t*>(to.data) + begin);
    } else {
      convert(column, begin, end, reinterpret_cast<uint32_t*>(to.data) + begin);
    }
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

void emit_names(const Emission& emission) {
  auto* offsets = reinterpret_cast<uint64_t*>(emission.bytes(SectionKind::ItemNameOffsets, -1));
  uint8_t* bytes = emission.bytes(SectionKind::ItemNames, -1);
  uint64_t offset = 0;
  for (int64_t item = 0; item < emission.sorted.items; ++item) {
    const std::string_view name = emission.catalogue.names[static_cast<int64_t>(emission.sorted.rows[item])];
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

// Calls emit(begin, end) for the item rows, on several threads.
template <class Emit>
void by_items(const Emission& emission, int threads, Progress& progress, const Emit& emit) {
  parallel_for(threads, static_cast<int64_t>(divide_up(emission.view.items, kTaskSids)), [&](int64_t chunk) {
    const int64_t begin = chunk * kTaskSids, end = std::min(emission.sorted.items, begin + kTaskSids);
    emit(begin, end);
    progress.advance(end - begin);
  });
}

void emit_ids(const Emission& emission, int threads, Progress& progress) {
  auto* out = reinterpret_cast<int64_t*>(emission.bytes(SectionKind::ItemIds, -1));
  const uint64_t* rows = emission.sorted.rows.data();
  by_items(emission, threads, progress, [&](int64_t begin, int64_t end) {
    if (!emission.catalogue.has_ids) {
      std::memcpy(out + begin, rows + begin, static_cast<size_t>(end - begin) * sizeof *rows);
    } else {
      gather(emission.catalogue.ids, rows, begin, end, [&](int64_t item, int64_t id) { out[item] = id; });
    }
  });
}

void emit_priorities(const Emission& emission, int64_t least, int threads, Progress& progress) {
  const UintOut out = emission.array(SectionKind::ItemPriorities, -1);
  by_items(emission, threads, progress, [&](int64_t begin, int64_t end) {
    gather(emission.catalogue.priorities, emission.sorted.rows.data(), begin, end, [&](int64_t item, int64_t priority) {
      out.set(static_cast<uint64_t>(item), static_cast<uint64_t>(priority) - static_cast<uint64_t>(least));
    });
  });
}

}  // namespace

void emit_sections(const Catalogue& catalogue, const SortedCatalogue& sorted, const LevelScan& scan,
                   const std::vector<AttributeScan>& attributes, FileHeader& header, uint8_t* base,
                   const sidbeam_builder_config& config, int threads) {
  const Shape& shape = header.shape;
  const std::vector<Section>& sections = header.sections;
  const Emission emission{catalogue, sorted, scan, sections, base, view_of(header, base)};
  const int tail = shape.tail_level > 0 ? 1 : 0;
  const int passes = shape.trie * (shape.csr_levels() + tail) + shape.levels * shape.columns + shape.hash;
  const int64_t columns = 1 + std::ssize(attributes) + (shape.has_priority_section() ? 1 : 0);
  Progress progress(config, SIDBEAM_PHASE_EMIT, sorted.sids * passes + sorted.items * columns);
  if (shape.trie) emit_all_tries(emission, threads, progress);
  if (tail != 0) emit_tail(sorted, scan, sections, base, threads, progress);
  if (shape.columns) emit_columns(emission, threads, progress);
  if (shape.id_type != IdType::kString) emit_ids(emission, threads, progress);
  if (shape.has_priority_section()) emit_priorities(emission, shape.priorities->least, threads, progress);
  emit_attributes(catalogue, sorted, attributes, header, base, threads, progress);
  // Runs on this thread, which reports progress: it takes long and cannot be divided.
  if (shape.hash) emit_hash(sorted, header, base, progress);
  // Each of these parts is one task.
  parallel_for(threads, shape.levels + 2, [&](int64_t task) {
    if (task == 0) {
      if (shape.id_type == IdType::kString) emit_names(emission);
    } else if (task == 1) {
      emit_item_offsets(emission);
    } else {
      emit_dense(emission, static_cast<int>(task) - 2);
    }
  });
  progress.advance(0);  // reports the progress of other threads since this thread's last call
}

}  // namespace sidbeam
