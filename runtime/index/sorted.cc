// Sort (key, row) records; settle each group of equal SIDs in place; then lay the rest out side by side.
// SPDX-License-Identifier: Apache-2.0
#include "index/sorted.h"

#include <algorithm>
#include <cinttypes>

#include "index/format.h"
#include "index/progress.h"
#include "index/radix.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

constexpr uint64_t kGroupStart = uint64_t{1} << 63;  // in Record::row, once groups are settled

// The first level in which the SIDs of two records differ; levels where they are the same.
int first_difference(const Catalogue& catalogue, const Record& a, const Record& b) {
  const KeyLayout& layout = catalogue.layout;
  if (a.key != b.key) return layout.first_difference(0, a.key, b.key);
  for (int w = 1; w < layout.words; ++w) {
    const auto& word = catalogue.words[static_cast<size_t>(w)];
    const uint64_t x = word[static_cast<int64_t>(a.row)], y = word[static_cast<int64_t>(b.row)];
    if (x != y) return layout.first_difference(w, x, y);
  }
  return layout.levels;
}

bool same_sid(const Catalogue& catalogue, const Record& a, const Record& b) {
  return first_difference(catalogue, a, b) == catalogue.layout.levels;
}

// Below 0, 0 or above as the id of row a comes before, with or after that of row b.
int compare_ids(const Catalogue& catalogue, uint64_t a, uint64_t b) {
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  if (catalogue.id_type == IdType::kString) return catalogue.names[x].compare(catalogue.names[y]);
  const int64_t i = catalogue.id(x), j = catalogue.id(y);
  if (i == j) return 0;
  if (catalogue.id_type == IdType::kU64) return static_cast<uint64_t>(i) < static_cast<uint64_t>(j) ? -1 : 1;
  return i < j ? -1 : 1;
}

// Records of one SID: drops pairs that are there twice, the highest priority stays; orders the others. Returns how
// many.
int64_t order_items(const Catalogue& catalogue, Record* group, int64_t count) {
  const auto priority = [&](const Record& record) { return catalogue.priority(static_cast<int64_t>(record.row)); };
  std::sort(group, group + count, [&](const Record& a, const Record& b) {
    const int order = compare_ids(catalogue, a.row, b.row);
    return order != 0 ? order < 0 : priority(a) > priority(b);
  });
  Record* end = std::unique(group, group + count, [&](const Record& a, const Record& b) {
    return compare_ids(catalogue, a.row, b.row) == 0;
  });
  if (catalogue.has_priorities) {
    std::sort(group, end, [&](const Record& a, const Record& b) {
      const int64_t p = priority(a), q = priority(b);
      return p != q ? p > q : compare_ids(catalogue, a.row, b.row) < 0;
    });
  }
  return end - group;
}

// What one part of the records came to.
struct Settled {
  int64_t begin = 0;                        // of its records
  int64_t sids = 0, items = 0, merged = 0;  // its items are records[begin, begin + items)
  int64_t collisions = 0, max_items = 0;
  int64_t collision = -1;                     // first record of the first SID with several items
  int64_t sids_before = 0, items_before = 0;  // in the parts before
};

// Settles records [begin, end), whole SIDs.
Settled settle(const Catalogue& catalogue, const sidbeam_builder_config& config, Record* records, int64_t begin,
               int64_t end) {
  Settled out;
  out.begin = begin;
  int64_t write = begin;
  for (int64_t group = begin; group < end;) {
    int64_t group_end = group + 1;
    while (group_end < end && same_sid(catalogue, records[group], records[group_end])) ++group_end;
    const int64_t pairs = group_end - group;
    int64_t kept = pairs == 1 ? 1 : order_items(catalogue, records + group, pairs);
    out.merged += pairs - kept;
    if (kept > 1 && config.collisions == SIDBEAM_COLLISIONS_ERROR) {
      out.collision = group;
      return out;
    }
    if (config.collisions == SIDBEAM_COLLISIONS_FIRST) kept = 1;
    if (write != group) std::copy(records + group, records + group + kept, records + write);
    records[write].row |= kGroupStart;
    write += kept;
    ++out.sids;
    out.collisions += kept > 1;
    out.max_items = std::max(out.max_items, kept);
    group = group_end;
  }
  out.items = write - begin;
  return out;
}

void format_id(const Catalogue& catalogue, uint64_t row, char (&out)[80]) {
  const auto r = static_cast<int64_t>(row);
  if (catalogue.id_type == IdType::kString) {
    const std::string_view name = catalogue.names[r];
    std::snprintf(out, sizeof out, "'%.*s'", static_cast<int>(std::min<size_t>(name.size(), 64)), name.data());
  } else if (catalogue.id_type == IdType::kU64) {
    std::snprintf(out, sizeof out, "%" PRIu64, static_cast<uint64_t>(catalogue.id(r)));
  } else {
    std::snprintf(out, sizeof out, "%" PRId64, catalogue.id(r));
  }
}

[[noreturn]] void collision(const Catalogue& catalogue, const Record& a, const Record& b) {
  const KeyLayout& layout = catalogue.layout;
  std::string sid;
  for (int l = 0; l < layout.levels && sid.size() < 200; ++l) {
    const auto& word = catalogue.words[static_cast<size_t>(layout.place[l].word)];
    const uint32_t code = layout.code(l, word[static_cast<int64_t>(a.row)]);
    if (layout.variable_length && code == layout.codes[l]) break;
    if (l > 0) sid += ',';
    sid += std::to_string(code);
  }
  char id_a[80], id_b[80];
  format_id(catalogue, a.row, id_a);
  format_id(catalogue, b.row, id_b);
  fail(SIDBEAM_COLLISION, "the SID %s has the items %s (row %llu) and %s (row %llu), expected one", sid.c_str(), id_a,
       static_cast<unsigned long long>(a.row), id_b, static_cast<unsigned long long>(b.row));
}

std::vector<Settled> settle_all(const Catalogue& catalogue, const sidbeam_builder_config& config, int threads,
                                const std::vector<Part>& parts, Buffer<Record>& records, Progress& progress) {
  std::vector<Settled> settled(parts.size());
  parallel_for(threads, static_cast<int64_t>(parts.size()), [&](int64_t i) {
    const Part& part = parts[static_cast<size_t>(i)];
    settled[static_cast<size_t>(i)] = settle(catalogue, config, records.data(), part.begin, part.end);
    progress.advance(part.end - part.begin);
  });
  for (const Settled& part : settled) {
    if (part.collision >= 0) collision(catalogue, records[part.collision], records[part.collision + 1]);
  }
  return settled;
}

void add_up(std::vector<Settled>& settled, SortedCatalogue& out) {
  for (Settled& part : settled) {
    part.sids_before = out.sids;
    part.items_before = out.items;
    out.sids += part.sids;
    out.items += part.items;
    out.merged_pairs += part.merged;
    out.collisions += part.collisions;
    out.max_items = std::max(out.max_items, part.max_items);
  }
}

// Lays out the items of one part; `last` is the record before its first, kGroupStart cleared, if there is one.
void lay_out(const Catalogue& catalogue, const Record* records, const Settled& part, Record last,
             SortedCatalogue& out) {
  int64_t sid = part.sids_before - 1;
  for (int64_t i = 0; i < part.items; ++i) {
    Record record = records[part.begin + i];
    const bool start = (record.row & kGroupStart) != 0;
    record.row &= ~kGroupStart;
    const auto row = static_cast<int64_t>(record.row);
    const int64_t item = part.items_before + i;
    if (start) {
      ++sid;
      out.first_new[sid] = static_cast<uint8_t>(sid == 0 ? 0 : first_difference(catalogue, last, record));
      out.words[0][sid] = record.key;
      for (size_t w = 1; w < out.words.size(); ++w) out.words[w][sid] = catalogue.words[w][row];
      if (out.item_offsets.size() != 0) out.item_offsets[sid] = item;
    }
    out.ids[item] = catalogue.id_type == IdType::kString ? row : catalogue.id(row);
    last = record;
  }
}

void lay_out_all(const Catalogue& catalogue, const Buffer<Record>& records, const std::vector<Settled>& settled,
                 int threads, SortedCatalogue& out, Progress& progress) {
  const Allocator& allocator = catalogue.allocator;
  for (int w = 0; w < catalogue.layout.words; ++w) out.words.push_back(large_buffer<uint64_t>(allocator, out.sids));
  out.first_new = large_buffer<uint8_t>(allocator, out.sids);
  if (out.items != out.sids) {
    out.item_offsets = large_buffer<int64_t>(allocator, out.sids + 1);
    out.item_offsets[out.sids] = out.items;
  }
  out.ids = large_buffer<int64_t>(allocator, out.items);
  parallel_for(threads, static_cast<int64_t>(settled.size()), [&](int64_t i) {
    const Settled& part = settled[static_cast<size_t>(i)];
    Record last{};
    if (i > 0) {
      const Settled& before = settled[static_cast<size_t>(i) - 1];
      last = records[before.begin + before.items - 1];
      last.row &= ~kGroupStart;
    }
    lay_out(catalogue, records.data(), part, last, out);
    progress.advance(part.items);
  });
}

}  // namespace

int64_t SortedCatalogue::bytes() const {
  int64_t sum = first_new.bytes() + item_offsets.bytes() + ids.bytes();
  for (const auto& word : words) sum += word.bytes();
  return sum;
}

void SortedCatalogue::last_levels(int64_t begin, int64_t end, uint8_t* out) const {
  std::fill(out, out + (end - begin), static_cast<uint8_t>(layout.levels - 1));
  for (int l = layout.levels - 1; l > 0 && layout.variable_length; --l) {
    const CodeColumn codes = column(l);
    for (int64_t i = begin; i < end; ++i) out[i - begin] = codes.is_end(i) ? static_cast<uint8_t>(l) : out[i - begin];
  }
}

int64_t sort_bytes(const KeyLayout& layout, int64_t rows, int threads) {
  return sort_rows_bytes(rows, threads) +
         checked_bytes(rows, std::max<int64_t>(sizeof(Record), 8 * layout.words + 1 + 8 + 8));
}

SortedCatalogue sort_catalogue(const Catalogue& catalogue, const sidbeam_builder_config& config, int threads) {
  SortedCatalogue out(catalogue.layout);
  Buffer<Record> records = large_buffer<Record>(catalogue.allocator, catalogue.rows);
  std::vector<Part> parts;
  {
    Progress progress(config, SIDBEAM_PHASE_SORT, 2 * catalogue.rows);
    parts = sort_rows(catalogue, threads, records, progress);
  }
  Progress progress(config, SIDBEAM_PHASE_SCAN, 2 * catalogue.rows);
  std::vector<Settled> settled = settle_all(catalogue, config, threads, parts, records, progress);
  add_up(settled, out);
  lay_out_all(catalogue, records, settled, threads, out, progress);
  progress.advance(0);  // what other threads did last
  return out;
}

}  // namespace sidbeam
