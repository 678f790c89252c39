// SPDX-License-Identifier: Apache-2.0
#include "index/build/plan.h"

#include <algorithm>
#include <cmath>

#include "index/build/builder.h"
#include "index/build/catalogue.h"
#include "index/build/emit_tail.h"
#include "index/build/radix.h"
#include "index/build/sorted.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

// The expected number of distinct values among n uniform draws from k.
double expected_distinct(double n, double k) { return -k * std::expm1(-n / k); }

// Assumes SIDs of full length as long as there are enough of them.
void estimate_levels(uint64_t sids, Shape& shape) {
  constexpr double kMost = 0x1p200;  // prefixes: SIDs share none of so many, and those of 255 levels overflow
  double prefixes = 1, possible = 0;
  for (int l = 0; l < shape.levels; ++l) {
    LevelShape& level = shape.level[l];
    prefixes = std::min(prefixes * level.codes, kMost);
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

Plan plan_of(const FileHeader& header) {
  Plan plan;
  plan.info.levels = header.shape.levels;
  plan.info.sids = static_cast<int64_t>(header.shape.sids);
  plan.info.items = static_cast<int64_t>(header.shape.items);
  plan.info.file_bytes = static_cast<int64_t>(header.file_bytes);
  plan.info.section_count = static_cast<int64_t>(header.sections.size());
  for (int l = 0; l < header.shape.levels; ++l)
    plan.nodes.push_back(static_cast<int64_t>(header.shape.level[l].edges - header.shape.level[l].ends));
  plan.sections = section_infos(header.sections);
  return plan;
}

Plan estimate_plan(const sidbeam_builder_config& config, int64_t sids) {
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
  if (config.keep_priorities != 0) shape.priorities = {INT64_MIN, INT64_MAX};
  for (const SectionSpec& spec : sections_of(shape)) header.sections.push_back({spec, 0, 0});
  if (config.codebook != nullptr) header.codebook = config.codebook;
  header.file_bytes = place_sections(encode_header(header).size() - sizeof(Preamble), header.sections);
  Plan plan = plan_of(header);
  // Assumes that ids come with the pairs, and priorities where they are kept. The size of the names is unknown.
  const KeyLayout layout(config.levels, config.codes, shape.variable_length);
  const int64_t packed = checked_bytes(ChunkedArray<uint64_t>::capacity_for(sids), 8 * layout.words);
  const int64_t ids =
      checked_bytes(ChunkedArray<uint64_t>::capacity_for(sids), shape.id_type == IdType::kString ? 16 : 8);
  const int64_t priorities =
      config.keep_priorities != 0 ? checked_bytes(ChunkedArray<int64_t>::capacity_for(sids), 8) : 0;
  plan.info.peak_bytes = ids + priorities + sorted_bytes(layout, sids) +
                         std::max(packed + least_sort_bytes(sids, thread_count(config.threads)), plan.info.file_bytes);
  return plan;
}

}  // namespace sidbeam
