// One streaming pass a level, in chunks: SIDs whose first new level is at most l begin an edge of level l, and those
// where it is below l begin a node.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "index/emit.h"
#include "index/emit_tail.h"
#include "index/progress.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// What the SIDs of a chunk add to a level. Rows may straddle chunks, so those at its two ends stay open.
struct Count {
  uint64_t edges = 0, ends = 0;
  uint64_t first_row = 0;           // edges before the first node that begins here
  uint64_t last_row = 0;            // edges since the last one; all of them where none begins
  bool begins = false;              // a node begins here
  uint64_t longest = 0, dense = 0;  // of the rows between
};

void close_row(uint64_t children, uint32_t codes, uint64_t& longest, uint64_t& dense) {
  longest = std::max(longest, children);
  dense += is_dense(children, codes);
}

Count count_chunk(const SortedCatalogue& sorted, int level, int64_t begin, int64_t end) {
  Count out;
  const uint32_t codes = sorted.layout.codes[level];
  const bool may_end = sorted.layout.variable_length && level > 0;
  const CodeColumn column = sorted.column(level), above = sorted.column(may_end ? level - 1 : level);
  const uint8_t* first_new = sorted.first_new.data();
  for (int64_t i = begin; i < end; ++i) {
    const int first = first_new[i];
    if (first > level) continue;
    if (may_end && above.is_end(i)) continue;  // below an end: no edge, and an empty row
    if (first < level) {
      if (out.begins) close_row(out.last_row, codes, out.longest, out.dense);
      if (!out.begins) out.first_row = out.edges;
      out.begins = true;
      out.last_row = 0;
    }
    ++out.edges;
    ++out.last_row;
    out.ends += column.is_end(i);
  }
  return out;
}

void add_up(const std::vector<Count>& counts, LevelShape& shape, LevelStarts& starts) {
  uint64_t row = 0, longest = 0;
  for (const Count& count : counts) {
    starts.edges.push_back(shape.edges);
    starts.ends.push_back(shape.ends);
    shape.edges += count.edges;
    shape.ends += count.ends;
    if (!count.begins) {
      row += count.edges;
      continue;
    }
    close_row(row + count.first_row, shape.codes, longest, shape.dense_nodes);
    longest = std::max(longest, count.longest);
    shape.dense_nodes += count.dense;
    row = count.last_row;
  }
  close_row(row, shape.codes, longest, shape.dense_nodes);
  shape.max_children = static_cast<uint32_t>(longest);
  starts.edges.push_back(shape.edges);
  starts.ends.push_back(shape.ends);
}

// A SID is as long as its codes before the first end; `level` ends where a SID of `level` codes is.
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
  for (const int64_t row : sorted.ids) bytes += catalogue.names[row].size();
  return bytes;
}

}  // namespace

Scan scan_levels(const Catalogue& catalogue, const SortedCatalogue& sorted, const sidbeam_builder_config& config,
                 int threads) {
  Scan out;
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
  header.merged_pairs = static_cast<uint64_t>(sorted.merged_pairs);
  header.collisions = static_cast<uint64_t>(sorted.collisions);
  header.max_items_per_sid = static_cast<uint64_t>(sorted.max_items);

  const auto chunks = static_cast<int64_t>(divide_up(shape.sids, kChunk));
  std::vector<std::vector<Count>> counts(static_cast<size_t>(shape.levels),
                                         std::vector<Count>(static_cast<size_t>(chunks)));
  Progress progress(config, SIDBEAM_PHASE_SCAN, sorted.sids * shape.levels);
  parallel_for(threads, shape.levels * chunks, [&](int64_t task) {
    const auto level = static_cast<int>(task / chunks);
    const int64_t chunk = task % chunks, begin = chunk * kChunk, end = std::min(sorted.sids, begin + kChunk);
    counts[static_cast<size_t>(level)][static_cast<size_t>(chunk)] = count_chunk(sorted, level, begin, end);
    progress.advance(end - begin);
  });
  out.starts.resize(static_cast<size_t>(shape.levels));
  for (int l = 0; l < shape.levels; ++l) {
    LevelShape& level = shape.level[l];
    level.codes = sorted.layout.codes[l];
    level.nodes = l == 0 ? 1 : shape.level[l - 1].edges;
    add_up(counts[static_cast<size_t>(l)], level, out.starts[static_cast<size_t>(l)]);
    if (!shape.trie || l >= shape.csr_levels()) level.dense_nodes = 0;
  }
  set_lengths(header);
  return out;
}

}  // namespace sidbeam
