// SPDX-License-Identifier: Apache-2.0
#include "index/header_checks.h"

#include <algorithm>

#include "index/hash_seed.h"
#include "index/names.h"
#include "sidbeam/builder.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using format::SectionKind;
using ull = unsigned long long;

[[noreturn]] void bad_count(const char* what, int level, uint64_t value, const char* expected, uint64_t bound) {
  if (level >= 0)
    fail(SIDBEAM_CORRUPT, "the header's %s of level %d is %llu, expected %s %llu", what, level, static_cast<ull>(value),
         expected, static_cast<ull>(bound));
  fail(SIDBEAM_CORRUPT, "the header's %s is %llu, expected %s %llu", what, static_cast<ull>(value), expected,
       static_cast<ull>(bound));
}

void need_equal(const char* what, int level, uint64_t value, uint64_t expected) {
  if (value != expected) bad_count(what, level, value, "exactly", expected);
}
void need_at_least(const char* what, int level, uint64_t value, uint64_t least) {
  if (value < least) bad_count(what, level, value, "at least", least);
}
void need_at_most(const char* what, int level, uint64_t value, uint64_t most) {
  if (value > most) bad_count(what, level, value, "at most", most);
}

void check_level(const Shape& shape, int l) {
  const LevelShape& level = shape.level[l];
  const LevelShape* above = l == 0 ? nullptr : &shape.level[l - 1];
  need_at_least("codes", l, level.codes, 1);
  need_at_most("codes", l, level.codes, SIDBEAM_MAX_CODES - (shape.variable_length ? 1u : 0u));
  need_equal("nodes", l, level.nodes, above == nullptr ? 1 : above->edges);
  need_at_most("edges", l, level.edges, shape.sids);
  need_at_most("ends", l, level.ends, shape.variable_length && l > 0 ? level.edges : 0);
  need_at_least("edges", l, level.edges, level.nodes - (above == nullptr ? 0 : above->ends));
  need_at_most("max_children", l, level.max_children, std::min(shape.symbols(l), level.edges));
  need_at_most("dense_nodes", l, level.dense_nodes,
               shape.trie && l < shape.csr_levels() ? std::min(level.nodes, uint64_t{0xffffffff}) : 0);
}

void check_placement(const FileHeader& header, uint64_t header_end) {
  uint64_t end = header_end;
  for (const Section& section : header.sections) {
    const SectionName name(static_cast<uint16_t>(section.spec.kind), section.spec.level);
    const uint64_t alignment = section.spec.length >= kLargeSection ? kLargeSectionAlignment : kSectionAlignment;
    if (section.offset % alignment != 0)
      fail(SIDBEAM_CORRUPT, "%s begins at byte %llu, expected a multiple of %llu", name.text,
           static_cast<ull>(section.offset), static_cast<ull>(alignment));
    if (section.offset > header.file_bytes || section.spec.length > header.file_bytes - section.offset)
      fail(SIDBEAM_CORRUPT, "%s lies outside the file: bytes %llu to %llu + %llu of %llu", name.text,
           static_cast<ull>(section.offset), static_cast<ull>(section.offset), static_cast<ull>(section.spec.length),
           static_cast<ull>(header.file_bytes));
    if (section.offset < end)
      fail(SIDBEAM_CORRUPT, "%s begins at byte %llu and overlaps what ends at byte %llu", name.text,
           static_cast<ull>(section.offset), static_cast<ull>(end));
    end = section.offset + section.spec.length;
  }
}

// The kinds of the sections that are present determine which other sections must be present.
void infer_kinds(FileHeader& header) {
  for (const Section& section : header.sections) {
    const SectionSpec& spec = section.spec;
    if (!is_known(spec.kind) && spec.required)
      fail(SIDBEAM_UNSUPPORTED, "the file needs sections of kind %u, which this library does not know",
           static_cast<unsigned>(spec.kind));
    if (spec.level < -1 || (is_known(spec.kind) && spec.level >= header.shape.levels))
      fail(SIDBEAM_CORRUPT, "section %s names level %d of %d", section_kind_name(static_cast<uint16_t>(spec.kind)),
           spec.level, header.shape.levels);
    if (spec.kind == SectionKind::RowPointers) header.shape.trie = true;
    if (spec.kind == SectionKind::Columns) header.shape.columns = true;
    if (spec.kind == SectionKind::HashKeys || spec.kind == SectionKind::SeededHashKeys) header.shape.hash = true;
    if (spec.kind == SectionKind::ItemNames) header.shape.name_bytes = spec.length;
  }
  // Without columns, a hash set could neither check a match nor read a SID by its ordinal.
  if (header.shape.hash) header.shape.columns = true;
  if (!header.shape.trie && !header.shape.columns)
    fail(SIDBEAM_CORRUPT, "the file has neither row_pointers nor columns");
}

// Any seed could be used to read the set. But unless the caller gave the seed, it must be one that a build tries.
void check_hash_seed(const FileHeader& header) {
  const uint64_t seed = header.shape.hash_seed;
  if (!header.shape.hash && (seed != 0 || header.own_hash_seed))
    fail(SIDBEAM_CORRUPT, "the header has a hash seed, and the file no hash set");
  if (header.own_hash_seed ? seed == 0 : seed != 0 && !is_listed_hash_seed(seed))
    fail(SIDBEAM_CORRUPT, "the header's hash seed is %016llx, expected %s", static_cast<ull>(seed),
         header.own_hash_seed ? "the caller's, not 0" : "one of the list, or the caller's");
}

void check_priorities(const Shape& shape) {
  if (shape.priorities && shape.priorities->least > shape.priorities->greatest)
    fail(SIDBEAM_CORRUPT, "the header's least priority is %lld, expected at most the greatest, %lld",
         static_cast<long long>(shape.priorities->least), static_cast<long long>(shape.priorities->greatest));
}

void check_against(const SectionSpec& found, const SectionSpec& expected) {
  const auto kind = static_cast<uint16_t>(expected.kind);
  const SectionName name(kind, expected.level);
  if (found.encoding != expected.encoding)
    fail(SIDBEAM_CORRUPT, "%s has encoding %s (%u), expected %s", name.text,
         section_encoding_name(static_cast<uint16_t>(found.encoding)), static_cast<unsigned>(found.encoding),
         section_encoding_name(static_cast<uint16_t>(expected.encoding)));
  if (found.length != expected.length)
    fail(SIDBEAM_CORRUPT, "%s has %llu bytes, expected %llu", name.text, static_cast<ull>(found.length),
         static_cast<ull>(expected.length));
}

}  // namespace

void check_counts(const FileHeader& header) {
  const Shape& shape = header.shape;
  need_at_least("sids", -1, shape.sids, 1);
  need_at_most("items", -1, shape.items, kMaxItems - 1);
  need_at_least("items", -1, shape.items, shape.sids);
  need_at_most("merged_pairs", -1, header.merged_pairs, kMaxItems - 1);
  need_at_most("collisions", -1, header.collisions, std::min(shape.sids, shape.items - shape.sids));
  need_at_least("collisions", -1, header.collisions, shape.items > shape.sids ? 1 : 0);
  need_at_least("max_items_per_sid", -1, header.max_items_per_sid, shape.items > shape.sids ? 2 : 1);
  need_at_most("max_items_per_sid", -1, header.max_items_per_sid, shape.items - shape.sids + 1);
  const auto levels = static_cast<uint64_t>(shape.levels);
  need_at_most("longest", -1, static_cast<uint64_t>(header.longest), levels);
  need_at_most("shortest", -1, static_cast<uint64_t>(header.shortest), static_cast<uint64_t>(header.longest));
  need_at_least("shortest", -1, static_cast<uint64_t>(header.shortest), shape.variable_length ? 1 : levels);
}

void check_sections(FileHeader& header, uint64_t header_end) {
  infer_kinds(header);
  check_hash_seed(header);
  check_priorities(header.shape);
  const Shape& shape = header.shape;
  need_at_most("tail_level", -1, static_cast<uint64_t>(shape.tail_level),
               shape.trie ? static_cast<uint64_t>(shape.levels) - 1 : 0);
  for (int l = 0; l < shape.levels; ++l) check_level(shape, l);
  const LevelShape& last = shape.level[shape.levels - 1];
  // Every SID is an edge of the last level or an end above it. None of these sums exceeds 2^46.
  need_equal("sids", -1, shape.sids, last.edges + shape.ends() - last.ends);

  const std::vector<SectionSpec> expected = sections_of(shape);
  std::vector<bool> seen(expected.size(), false);
  for (const Section& section : header.sections) {
    if (!is_known(section.spec.kind) || is_attribute(section.spec.kind)) continue;
    size_t i = 0;
    while (i < expected.size() &&
           (expected[i].kind != section.spec.kind || expected[i].level != section.spec.level || seen[i]))
      ++i;
    if (i == expected.size())
      fail(SIDBEAM_CORRUPT, "%s is not expected, or not twice",
           SectionName(static_cast<uint16_t>(section.spec.kind), section.spec.level).text);
    check_against(section.spec, expected[i]);
    seen[i] = true;
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!seen[i])
      fail(SIDBEAM_CORRUPT, "%s is missing",
           SectionName(static_cast<uint16_t>(expected[i].kind), expected[i].level).text);
  }
  check_placement(header, header_end);
}

}  // namespace sidbeam
