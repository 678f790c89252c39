// Counts all levels in one streaming pass, in chunks. A SID begins an edge of level l if its first new level is at most
// l, and a node if its first new level is less than l. One pass per level would read everything L times.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "index/build/emit_tail.h"
#include "index/build/progress.h"
#include "index/build/scan.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// What the SIDs of a chunk add to each level. Rows may straddle chunks, so the first and the last row of a chunk stay
// open.
struct ChunkCounts {
  uint64_t edges[kMaxLevels] = {}, ends[kMaxLevels] = {};
  uint64_t first_row[kMaxLevels] = {};  // edges before the first node that begins here
  uint64_t row[kMaxLevels] = {};        // edges since the last node that begins here; all edges if none does
  uint64_t longest[kMaxLevels] = {}, dense[kMaxLevels] = {};  // of the rows between
  int begun = kMaxLevels;                                     // nodes of this level and below begin here
};

// A row becomes dense at its fewest[level]-th child and its length counts with every child, so rows need not be closed.
template <bool kVariable>
void count_block(const SortedCatalogue& sorted, const uint64_t* fewest, int64_t begin, int64_t end, ChunkCounts& out) {
  const int levels = sorted.layout.levels;
  uint8_t last_levels[kCachedSids];
  if (kVariable) sorted.last_levels(begin, end, last_levels);
  for (int64_t i = begin; i < end; ++i) {
    const int first = sorted.first_new[i], last = kVariable ? last_levels[i - begin] : levels - 1;
    for (; out.begun > first + 1; --out.begun) {
      const int l = out.begun - 1;
      out.first_row[l] = out.row[l];
      out.longest[l] = out.dense[l] = 0;
    }
    const uint64_t children = ++out.row[first];
    out.longest[first] = std::max(out.longest[first], children);
    out.dense[first] += children == fewest[first];
    for (int l = first + 1; l < levels; ++l) out.row[l] = !kVariable || l <= last;
    ++out.edges[first];  // also counts for every level from there to the last; added up later
    if (kVariable && last + 1 < levels) --out.edges[last + 1];
    if (kVariable) out.ends[last] += sorted.column(last).is_end(i);
  }
}

ChunkCounts count_chunk(const SortedCatalogue& sorted, int64_t begin, int64_t end, Progress& progress) {
  ChunkCounts out;
  const int levels = sorted.layout.levels;
  out.begun = levels;
  uint64_t fewest[kMaxLevels];
  for (int l = 0; l < levels; ++l) fewest[l] = fewest_dense(sorted.layout.codes[l]);
  for (int64_t block = begin; block < end; block += kCachedSids) {
    const int64_t block_end = std::min(end, block + kCachedSids);
    (sorted.layout.variable_length ? count_block<true> : count_block<false>)(sorted, fewest, block, block_end, out);
  }
  for (int l = 0; l < levels; ++l) {
    if (l > 0) out.edges[l] += out.edges[l - 1];
    if (l >= out.begun && out.row[l] >= fewest[l]) --out.dense[l];  // the open row is counted when it closes
  }
  progress.advance(end - begin);
  return out;
}

void close_row(uint64_t children, LevelShape& shape) {
  shape.max_children = std::max(shape.max_children, static_cast<uint32_t>(children));
  shape.dense_nodes += is_dense(children, shape.codes);
}

void add_up(const std::vector<ChunkCounts>& chunks, int l, LevelShape& shape, LevelStarts& starts) {
  uint64_t row = 0;
  for (const ChunkCounts& chunk : chunks) {
    starts.edges.push_back(shape.edges);
    starts.ends.push_back(shape.ends);
    shape.edges += chunk.edges[l];
    shape.ends += chunk.ends[l];
    if (l < chunk.begun) {
      row += chunk.edges[l];
      continue;
    }
    close_row(row + chunk.first_row[l], shape);
    shape.max_children = std::max(shape.max_children, static_cast<uint32_t>(chunk.longest[l]));
    shape.dense_nodes += chunk.dense[l];
    row = chunk.row[l];
  }
  close_row(row, shape);
  if (shape.edges > 0)
    shape.max_children = std::max(shape.max_children, 1U);  // count_block does not compare the first child of a row
  starts.edges.push_back(shape.edges);
  starts.ends.push_back(shape.ends);
}

// A SID is as long as its codes before the end: a SID of `level` codes has its end at `level`.
void set_lengths(FileHeader& header) {
  const Shape& shape = header.shape;
  const LevelShape& last = shape.level[shape.levels - 1];
  header.longest = header.shortest = shape.levels;
  if (last.edges == last.ends) {
    header.longest = shape.levels - 1;
    while (shape.level[header.longest].ends == 0) --header.longest;
  }
  for (int l = shape.levels - 1; l > 0; --l) {
    if (shape.level[l].ends > 0) header.shortest = l;
  }
}

uint64_t total_name_bytes(const Catalogue& catalogue, const SortedCatalogue& sorted) {
  uint64_t bytes = 0;
  for (int64_t item = 0; item < sorted.items; ++item)
    bytes += catalogue.names[static_cast<int64_t>(sorted.rows[item])].size();
  return bytes;
}

PriorityRange priority_range(const Catalogue& catalogue, const SortedCatalogue& sorted) {
  if (!catalogue.has_priorities) return {};
  PriorityRange range{INT64_MAX, INT64_MIN};
  gather(catalogue.priorities, sorted.rows.data(), 0, sorted.items, [&](int64_t, int64_t priority) {
    range.least = std::min(range.least, priority);
    range.greatest = std::max(range.greatest, priority);
  });
  return range;
}

}  // namespace

LevelScan scan_levels(const Catalogue& catalogue, const SortedCatalogue& sorted, const sidbeam_builder_config& config,
                      int threads) {
  LevelScan out;
  FileHeader& header = out.header;
  Shape& shape = header.shape;
  shape.levels = sorted.layout.levels;
  shape.variable_length = sorted.layout.variable_length;
  shape.id_type = catalogue.id_type;
  set_kinds(config.kinds, shape);
  shape.sids = static_cast<uint64_t>(sorted.sids);
  shape.items = static_cast<uint64_t>(sorted.items);
  if ((config.kinds & SIDBEAM_KIND_COMPACT_TRIE) != 0) shape.tail_level = first_tail_level(sorted);
  if (shape.id_type == IdType::kString) shape.name_bytes = total_name_bytes(catalogue, sorted);
  if (config.keep_priorities != 0) shape.priorities = priority_range(catalogue, sorted);
  header.merged_pairs = static_cast<uint64_t>(sorted.merged_pairs);
  header.collisions = static_cast<uint64_t>(sorted.collisions);
  header.max_items_per_sid = static_cast<uint64_t>(sorted.max_items);

  const auto chunks = static_cast<int64_t>(divide_up(shape.sids, kTaskSids));
  std::vector<ChunkCounts> counts(static_cast<size_t>(chunks));
  Progress progress(config, SIDBEAM_PHASE_SCAN, sorted.sids);
  parallel_for(threads, chunks, [&](int64_t chunk) {
    const int64_t begin = chunk * kTaskSids, end = std::min(sorted.sids, begin + kTaskSids);
    counts[static_cast<size_t>(chunk)] = count_chunk(sorted, begin, end, progress);
  });
  out.starts.resize(static_cast<size_t>(shape.levels));
  for (int l = 0; l < shape.levels; ++l) {
    LevelShape& level = shape.level[l];
    level.codes = sorted.layout.codes[l];
    level.nodes = l == 0 ? 1 : shape.level[l - 1].edges;
    add_up(counts, l, level, out.starts[static_cast<size_t>(l)]);
    if (!shape.trie || l >= shape.csr_levels()) level.dense_nodes = 0;
  }
  set_lengths(header);
  return out;
}

}  // namespace sidbeam
