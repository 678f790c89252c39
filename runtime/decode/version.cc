// SPDX-License-Identifier: Apache-2.0
#include "decode/version.h"

#include <algorithm>

#include "index/header.h"
#include "index/read/find.h"
#include "index/rules/bits.h"
#include "index/rules/row_bits.h"

namespace sidbeam {
namespace {

// The numbers of a delta's strings in base and delta together: the base's, and after them those that it lacks.
std::vector<uint32_t> join_codes(const Dictionary& base, const Dictionary& delta) {
  std::vector<uint32_t> codes(delta.count);
  uint64_t at = 0, more = base.count;
  for (uint64_t i = 0; i < delta.count; ++i) {
    at = first_where_near(at, base.count, [&](uint64_t k) { return base[k] >= delta[i]; });
    codes[i] = static_cast<uint32_t>(at < base.count && base[at] == delta[i] ? at : more++);
  }
  return codes;
}

// The attribute of a version, as its header says it, from those of its base and its delta.
void join_shape(AttributeShape& base, uint64_t base_rows, const AttributeShape& delta, uint64_t delta_rows,
                uint64_t more_strings) {
  const bool has_base = base.nulls < base_rows, has_delta = delta.nulls < delta_rows;
  base.nulls += delta.nulls;
  base.codes += delta.codes;
  base.strings += more_strings;
  if (!has_delta) return;
  base.least = has_base ? std::min(base.least, delta.least) : delta.least;
  base.greatest = has_base ? std::max(base.greatest, delta.greatest) : delta.greatest;
  base.least_number = has_base ? std::min(base.least_number, delta.least_number) : delta.least_number;
  base.greatest_number = has_base ? std::max(base.greatest_number, delta.greatest_number) : delta.greatest_number;
}

std::unique_ptr<const FilterBits> derive(const sidbeam_index& index, const RowSet& set) {
  return std::make_unique<const FilterBits>(index.tries(), set.rows, set.live, index.runtime->threads,
                                            index.runtime->allocator);
}

// Where some version before has them too, only what has changed.
std::unique_ptr<const FilterBits> derive_live(const sidbeam_index& index, const sidbeam_index* before) {
  const RowSet live{index.live_rows(), nullptr};
  if (before == nullptr || before->live_rows() == nullptr) return derive(index, live);
  return derive_from(index, live, *before, {before->live_rows(), nullptr}, *before->version->live);
}

// What a version's header says otherwise than its base's. Counts of nodes and greatest numbers are bounds: those of
// base and delta together.
void describe(sidbeam_index& index) {
  IndexHeaderInfo& header = index.index.header;
  const Version& version = *index.version;
  sidbeam_index_info& info = header.info;
  info.sids = static_cast<int64_t>(sid_count(index.index.view));
  info.items = static_cast<int64_t>(index.row_count());
  info.file_bytes = 0;
  if (!version.delta) return;
  const IndexHeaderInfo& delta = version.delta->index.header;
  for (size_t l = 0; l < header.codes.size(); ++l) {
    const int32_t most = header.codes[l] + (info.variable_length != 0 ? 1 : 0);
    header.max_children[l] = std::min(most, header.max_children[l] + delta.max_children[l]);
    header.nodes[l] += delta.nodes[l];
  }
  info.shortest = std::min(info.shortest, delta.info.shortest);
  info.longest = std::max(info.longest, delta.info.longest);
  info.collisions += delta.info.collisions;
  info.max_items_per_sid += delta.info.max_items_per_sid;
  for (size_t i = 0; i < header.attributes.size(); ++i)
    join_shape(header.attributes[i], index.index.view.items, delta.attributes[i], version.delta->index.view.items,
               version.more_strings[i].size());
}

// A hash of the base's, of the delta's and of what is live.
void join_hash(sidbeam_index& index, char (sidbeam_index_info::*hash)[33]) {
  const Version& version = *index.version;
  char(&text)[33] = index.index.header.info.*hash;
  Stream128 joined(index.runtime->target);
  joined.add(text, sizeof text);
  if (version.delta) joined.add(version.delta->index.header.info.*hash, sizeof text);
  if (version.live_bits() != nullptr) joined.add(version.live_bits(), row_words(index.row_count()) * sizeof(uint64_t));
  print_hash(joined.value(), text);
}

// The base's hashes where nothing has come or gone.
void set_hashes(sidbeam_index& index) {
  const Version& version = *index.version;
  if (!version.delta && version.live_bits() == nullptr) return;
  join_hash(index, &sidbeam_index_info::fingerprint);
  if (index.index.header.info.attribute_count > 0) join_hash(index, &sidbeam_index_info::attribute_digest);
}

}  // namespace

std::unique_ptr<const FilterBits> derive_from(const sidbeam_index& index, const RowSet& set, const sidbeam_index& other,
                                              const RowSet& before, const FilterBits& derived) {
  if (&other.base() != &index.base()) return derive(index, set);
  const bool same_delta = other.index.view.overlay == index.index.view.overlay;
  const uint64_t rows = same_delta ? index.row_count() : index.index.view.items;
  const auto difference = [&](uint64_t w) { return (set.word(w) ^ before.word(w)) & row_mask(w, rows); };
  uint64_t count = 0;
  for (uint64_t w = 0; w < row_words(rows); ++w) count += bits_set(difference(w));
  if (count > rows / 16) return derive(index, set);
  const Allocator& allocator = index.runtime->allocator;
  Buffer<uint64_t> changed(allocator, static_cast<int64_t>(count));
  int64_t at = 0;
  for (uint64_t w = 0; w < row_words(rows); ++w)
    for (uint64_t word = difference(w); word != 0; word &= word - 1)
      changed[at++] = w * 64 + bits_set((word & (0 - word)) - 1);
  return std::make_unique<const FilterBits>(index.tries(), set.rows, set.live, derived,
                                            ChangedRows{changed.data(), at, same_delta}, index.runtime->threads,
                                            allocator);
}

std::unique_ptr<sidbeam_index> make_version(VersionParts parts, const sidbeam_index* before) {
  auto index = std::make_unique<sidbeam_index>();
  const sidbeam_index& base = *parts.base;
  index->runtime = Ref<sidbeam_runtime>::share(base.runtime.get());
  index->verified = base.verified.load();
  index->index.header = base.index.header;
  index->index.attributes = base.index.attributes;
  index->index.view = base.index.view;
  if (parts.overlay != nullptr) index->index.view.overlay = &parts.overlay->view();

  auto version = std::make_unique<Version>();
  version->base = std::move(parts.base);
  version->delta = std::move(parts.delta);
  version->overlay = std::move(parts.overlay);
  version->live_rows = std::move(parts.live_rows);
  version->live_items = static_cast<int64_t>(index->row_count());
  index->version = std::move(version);
  Version& own = *index->version;
  for (size_t i = 0; own.delta && i < base.index.attributes.size(); ++i) {
    const uint64_t known = base.index.attributes[i].dictionary.count;
    const std::vector<uint32_t>& codes = own.delta_codes.emplace_back(
        join_codes(base.index.attributes[i].dictionary, own.delta->index.attributes[i].dictionary));
    std::vector<uint32_t>& more = own.more_strings.emplace_back();
    for (uint32_t code = 0; code < codes.size(); ++code)
      if (codes[code] >= known) more.push_back(code);
  }
  describe(*index);
  set_hashes(*index);
  const uint64_t* live = own.live_bits();
  if (live == nullptr) return index;
  own.live_items = static_cast<int64_t>(count_bits(live, index->row_count()));
  own.live = derive_live(*index, before);
  return index;
}

}  // namespace sidbeam
