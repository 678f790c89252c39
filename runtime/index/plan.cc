// SPDX-License-Identifier: Apache-2.0
#include "index/plan.h"

#include <algorithm>
#include <cmath>

#include "index/builder.h"
#include "index/catalogue.h"
#include "index/emit_tail.h"
#include "index/radix.h"
#include "index/sorted.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

using format::SectionKind;

int64_t& plan_entry(const SectionSpec& spec, int last_level, sidbeam_plan& plan) {
  const int level = spec.level;
  switch (spec.kind) {
    case SectionKind::RowPointers:
      return plan.row_pointer_bytes[level];
    case SectionKind::Tokens:
    case SectionKind::Tail:
    case SectionKind::TailSplits:
      return plan.token_bytes[level];
    case SectionKind::DenseNodes:
    case SectionKind::DenseNodeRanks:
    case SectionKind::DenseMasks:
    case SectionKind::DenseMaskRanks:
      return plan.dense_bytes[level];
    case SectionKind::Ordinals:
      return plan.ordinal_bytes[level];
    case SectionKind::EndEdges:
    case SectionKind::EndOrdinals:
      // The ordinals of all ends belong to no level; they are counted with the last.
      return plan.end_bytes[level < 0 ? last_level : level];
    case SectionKind::Columns:
      return plan.sorted_bytes[level];
    case SectionKind::HashKeys:
    case SectionKind::SeededHashKeys:
    case SectionKind::HashOrdinals:
      return plan.hash_bytes;
    default:
      return plan.item_bytes;
  }
}

// Distinct values of n uniform draws from k.
double expected_distinct(double n, double k) { return -k * std::expm1(-n / k); }

// SIDs are taken to be of full length while there are enough of those.
void estimate_levels(uint64_t sids, Shape& shape) {
  double prefixes = 1, possible = 0;
  for (int l = 0; l < shape.levels; ++l) {
    LevelShape& level = shape.level[l];
    prefixes *= level.codes;
    possible = shape.variable_length ? possible + prefixes : prefixes;
    level.nodes = l == 0 ? 1 : shape.level[l - 1].edges;
    const auto expected = static_cast<uint64_t>(std::llround(expected_distinct(static_cast<double>(sids), prefixes)));
    level.edges = l == shape.levels - 1 ? sids : std::clamp(expected, level.nodes, sids);
    const uint64_t children = level.edges / level.nodes;
    if (shape.trie && l < shape.csr_levels() && is_dense(children, level.codes)) level.dense_nodes = level.nodes;
  }
  if (static_cast<double>(sids) > possible)
    fail(SIDBEAM_INVALID_ARGUMENT, "sids is %llu, but these codes allow only %.0f SIDs",
         static_cast<unsigned long long>(sids), possible);
}

}  // namespace

void fill_plan(const FileHeader& header, sidbeam_plan& out) {
  const uint32_t struct_size = out.struct_size;
  out = {};
  out.struct_size = struct_size;
  out.sids = static_cast<int64_t>(header.shape.sids);
  out.items = static_cast<int64_t>(header.shape.items);
  out.file_bytes = static_cast<int64_t>(header.file_bytes);
  for (int l = 0; l < header.shape.levels; ++l)
    out.nodes[l] = static_cast<int64_t>(header.shape.level[l].edges - header.shape.level[l].ends);
  for (const Section& section : header.sections)
    plan_entry(section.spec, header.shape.levels - 1, out) += static_cast<int64_t>(section.spec.length);
}

void estimate_plan(const sidbeam_builder_config& config, int64_t sids, sidbeam_plan& out) {
  check_config(config);
  if (sids < 1 || static_cast<uint64_t>(sids) >= kMaxItems)
    fail(SIDBEAM_INVALID_ARGUMENT, "sids is %lld, expected 1 to 2^40 - 1", static_cast<long long>(sids));
  FileHeader header;
  Shape& shape = header.shape;
  shape.levels = config.levels;
  shape.variable_length = config.variable_length != 0;
  set_kinds(config.kinds, shape);
  shape.sids = shape.items = static_cast<uint64_t>(sids);
  for (int l = 0; l < config.levels; ++l) shape.level[l].codes = static_cast<uint32_t>(config.codes[l]);
  if ((config.kinds & SIDBEAM_KIND_COMPACT_TRIE) != 0) shape.tail_level = expected_tail_level(shape);
  estimate_levels(shape.sids, shape);
  for (const SectionSpec& spec : sections_of(shape)) header.sections.push_back({spec, 0, 0});
  if (config.codebook != nullptr) header.codebook = config.codebook;
  header.file_bytes = place_sections(encode_header(header).size() - sizeof(Preamble), header.sections);
  fill_plan(header, out);
  // As if ids came with the pairs; the bytes of names are not known.
  const KeyLayout layout(config.levels, config.codes, shape.variable_length);
  const int64_t packed = checked_bytes(ChunkedArray<uint64_t>::capacity_for(sids), 8 * layout.words);
  const int64_t ids =
      checked_bytes(ChunkedArray<uint64_t>::capacity_for(sids), shape.id_type == IdType::kString ? 16 : 8);
  out.peak_bytes = ids + sorted_bytes(layout, sids) +
                   std::max(packed + least_sort_bytes(sids, thread_count(config.threads)), out.file_bytes);
}

}  // namespace sidbeam
