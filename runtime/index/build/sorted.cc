// Sorts the catalogue in parts. While a part is in the cache, each group of equal SIDs is resolved, and the records
// that remain are written out. Merged pairs and collisions leave gaps between the parts, which are closed at the end.
// SPDX-License-Identifier: Apache-2.0
#include "index/build/sorted.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "index/build/progress.h"
#include "index/build/radix.h"
#include "index/format.h"
#include "support/error.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

constexpr uint64_t kSameSid = uint64_t{1} << 63;  // flag in a row: it has the same SID as the previous row

// Whether two records have the same SID.
bool same_sid(const Catalogue& catalogue, const Record& a, const Record& b) {
  if (a.key != b.key) return false;
  for (size_t w = 1; w < catalogue.words.size(); ++w) {
    const auto& word = catalogue.words[w];
    if (word[static_cast<int64_t>(a.row)] != word[static_cast<int64_t>(b.row)]) return false;
  }
  return true;
}

// The first level at which two different SIDs differ.
int first_difference(const SortedCatalogue& sorted, int64_t a, int64_t b) {
  int w = 0;
  while (sorted.words[static_cast<size_t>(w)][a] == sorted.words[static_cast<size_t>(w)][b]) ++w;
  const auto& word = sorted.words[static_cast<size_t>(w)];
  return sorted.layout.first_difference(w, word[a], word[b]);
}

// Negative, 0 or positive if the id of row a is less than, equal to or greater than that of row b.
int compare_ids(const Catalogue& catalogue, uint64_t a, uint64_t b) {
  const auto x = static_cast<int64_t>(a), y = static_cast<int64_t>(b);
  if (catalogue.id_type == IdType::kString) return catalogue.names[x].compare(catalogue.names[y]);
  const int64_t i = catalogue.id(x), j = catalogue.id(y);
  if (i == j) return 0;
  if (catalogue.id_type == IdType::kU64) return static_cast<uint64_t>(i) < static_cast<uint64_t>(j) ? -1 : 1;
  return i < j ? -1 : 1;
}

// Two rows of the same SID and item, and the attribute in which they differ, if there is one.
struct Difference {
  const AttributeColumn* attribute = nullptr;
  Record rows[2] = {};
};

// Of records with the same id, which lie together, the first stays and gets the attributes of the others. Returns the
// end of those that are left.
Record* merge_pairs(Catalogue& catalogue, Record* group, Record* end, Difference& difference) {
  Record* kept = group;
  for (Record* next = group + 1; next < end; ++next) {
    if (compare_ids(catalogue, kept->row, next->row) != 0) {
      *++kept = *next;
      continue;
    }
    const AttributeColumn* differing =
        catalogue.attributes.merge(static_cast<int64_t>(kept->row), static_cast<int64_t>(next->row));
    if (differing != nullptr) difference = {differing, {*kept, *next}};
  }
  return kept + 1;
}

// Sorts the records of one SID by priority falling, then id, then row.
void order_all(const Catalogue& catalogue, Record* group, int64_t count) {
  std::sort(group, group + count, [&](const Record& a, const Record& b) {
    const int64_t p = catalogue.priority(static_cast<int64_t>(a.row));
    const int64_t q = catalogue.priority(static_cast<int64_t>(b.row));
    if (p != q) return p > q;
    const int order = compare_ids(catalogue, a.row, b.row);
    return order != 0 ? order < 0 : a.row < b.row;
  });
}

// Sorts the records of one SID. Of records with the same id, only the one with the highest priority stays. Returns how
// many are left.
int64_t order_items(Catalogue& catalogue, Record* group, int64_t count, Difference& difference) {
  const auto priority = [&](const Record& record) { return catalogue.priority(static_cast<int64_t>(record.row)); };
  std::sort(group, group + count, [&](const Record& a, const Record& b) {
    const int order = compare_ids(catalogue, a.row, b.row);
    return order != 0 ? order < 0 : priority(a) > priority(b);
  });
  Record* end = merge_pairs(catalogue, group, group + count, difference);
  if (catalogue.has_priorities) {
    std::sort(group, end, [&](const Record& a, const Record& b) {
      const int64_t p = priority(a), q = priority(b);
      return p != q ? p > q : compare_ids(catalogue, a.row, b.row) < 0;
    });
  }
  return end - group;
}

// The result of resolving one part.
struct Settled {
  int64_t begin = 0;  // of the part's rows; its SIDs and items begin here, too, until the gaps are closed
  int64_t sids = 0, items = 0, merged = 0;
  int64_t collisions = 0, max_items = 0;
  bool failed = false;
  Record first_items[2] = {};  // of the first SID with several items, if that is an error
  Difference difference;       // likewise
};

// Resolves records [0, count): moves those that stay to the front, and marks each item that is not its SID's first.
Settled settle(Catalogue& catalogue, const sidbeam_builder_config& config, Record* records, int64_t count) {
  Settled out;
  for (int64_t group = 0; group < count;) {
    int64_t end = group + 1;
    while (end < count && same_sid(catalogue, records[group], records[end])) ++end;
    int64_t kept = end - group;
    if (config.collisions == kKeepIdentical) {
      order_all(catalogue, records + group, kept);
    } else if (kept > 1) {
      kept = order_items(catalogue, records + group, kept, out.difference);
    }
    if (out.difference.attribute != nullptr) return out;
    out.merged += end - group - kept;
    if (kept > 1 && config.collisions == SIDBEAM_COLLISIONS_ERROR) {
      out.failed = true;
      std::copy(records + group, records + group + 2, out.first_items);
      return out;
    }
    if (config.collisions == SIDBEAM_COLLISIONS_FIRST) kept = 1;
    if (out.items != group) std::copy(records + group, records + group + kept, records + out.items);
    for (int64_t i = 1; i < kept; ++i) records[out.items + i].row |= kSameSid;
    out.items += kept;
    ++out.sids;
    out.collisions += kept > 1;
    out.max_items = std::max(out.max_items, kept);
    group = end;
  }
  return out;
}

// Writes the SIDs and items of a part from part.begin on. Its first SID is compared later with the last one of the
// previous part.
void lay_out(const Catalogue& catalogue, const Record* records, const Settled& part, SortedCatalogue& out) {
  uint64_t* rows = &out.rows[part.begin];
  for (int64_t i = 0; i < part.items; ++i) rows[i] = records[i].row;
  uint64_t* keys = &out.words[0][part.begin];
  for (int64_t i = 0, sid = 0; i < part.items; ++i) {
    if ((records[i].row & kSameSid) == 0) keys[sid++] = records[i].key;
  }
  constexpr int64_t kAhead = 24;  // cache misses to overlap
  for (size_t w = 1; w < out.words.size(); ++w) {
    const auto& from = catalogue.words[w];
    uint64_t* to = &out.words[w][part.begin];
    for (int64_t i = 0, sid = 0; i < part.items; ++i) {
      if (i + kAhead < part.items) __builtin_prefetch(&from[static_cast<int64_t>(records[i + kAhead].row & ~kSameSid)]);
      if ((records[i].row & kSameSid) == 0) to[sid++] = from[static_cast<int64_t>(records[i].row)];
    }
  }
  uint8_t* first_new = &out.first_new[part.begin];
  for (int64_t sid = 1; sid < part.sids; ++sid)
    first_new[sid] = keys[sid] != keys[sid - 1]
                         ? static_cast<uint8_t>(out.layout.first_difference(0, keys[sid], keys[sid - 1]))
                         : static_cast<uint8_t>(first_difference(out, part.begin + sid, part.begin + sid - 1));
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

std::string format_sid(const Catalogue& catalogue, uint64_t row) {
  const KeyLayout& layout = catalogue.layout;
  std::string sid;
  for (int l = 0; l < layout.levels && sid.size() < 200; ++l) {
    const auto& word = catalogue.words[static_cast<size_t>(layout.place[l].word)];
    const uint32_t code = layout.code(l, word[static_cast<int64_t>(row)]);
    if (layout.variable_length && code == layout.codes[l]) break;
    if (l > 0) sid += ',';
    sid += std::to_string(code);
  }
  return sid;
}

[[noreturn]] void collision(const Catalogue& catalogue, const Record& a, const Record& b) {
  const std::string sid = format_sid(catalogue, a.row);
  char id_a[80], id_b[80];
  format_id(catalogue, a.row, id_a);
  format_id(catalogue, b.row, id_b);
  fail(SIDBEAM_COLLISION, "the SID %s has the items %s (row %llu) and %s (row %llu), expected one", sid.c_str(), id_a,
       static_cast<unsigned long long>(a.row), id_b, static_cast<unsigned long long>(b.row));
}

[[noreturn]] void differing(const Catalogue& catalogue, const Difference& difference) {
  const uint64_t a = difference.rows[0].row, b = difference.rows[1].row;
  const AttributeColumn& column = *difference.attribute;
  char id[80];
  format_id(catalogue, a, id);
  fail(SIDBEAM_INVALID_ARGUMENT,
       "attribute '%s' of the item %s with the SID %s is %s in row %llu and %s in row %llu, expected the same value in "
       "both, or null in one",
       column.name.c_str(), id, format_sid(catalogue, a).c_str(), column.text(static_cast<int64_t>(a)).c_str(),
       static_cast<unsigned long long>(a), column.text(static_cast<int64_t>(b)).c_str(),
       static_cast<unsigned long long>(b));
}

// Sorts, settles and lays out every part.
std::vector<Settled> settle_all(Catalogue& catalogue, const sidbeam_builder_config& config, int threads,
                                const std::vector<SortPart>& parts, SortedCatalogue& out, Progress& progress) {
  std::vector<Settled> settled(parts.size());
  sort_parts(catalogue, threads, parts, out.words[0], out.rows, [&](size_t i, Record* records) {
    Settled& part = settled[i];
    part = settle(catalogue, config, records, parts[i].size());
    part.begin = parts[i].begin;
    lay_out(catalogue, records, part, out);
    progress.advance(parts[i].size());
  });
  for (const Settled& part : settled) {
    if (part.difference.attribute != nullptr) differing(catalogue, part.difference);
    if (part.failed) collision(catalogue, part.first_items[0], part.first_items[1]);
  }
  return settled;
}

template <class T>
void move_down(Buffer<T>& buffer, int64_t to, int64_t from, int64_t count) {
  if (to != from) std::memmove(&buffer[to], &buffer[from], static_cast<size_t>(count) * sizeof(T));
}

// Closes the gaps that merged pairs and collisions left between the parts, and compares the SIDs on either side of
// them.
void join(const std::vector<Settled>& settled, SortedCatalogue& out, Progress& progress) {
  for (const Settled& part : settled) {
    for (auto& word : out.words) move_down(word, out.sids, part.begin, part.sids);
    move_down(out.first_new, out.sids, part.begin, part.sids);
    move_down(out.rows, out.items, part.begin, part.items);
    out.first_new[out.sids] = static_cast<uint8_t>(out.sids == 0 ? 0 : first_difference(out, out.sids - 1, out.sids));
    out.sids += part.sids;
    out.items += part.items;
    out.merged_pairs += part.merged;
    out.collisions += part.collisions;
    out.max_items = std::max(out.max_items, part.max_items);
    progress.advance(part.items);
  }
}

void count_items(const Allocator& allocator, SortedCatalogue& out) {
  if (out.items == out.sids) return;
  out.item_offsets = Buffer<int64_t>(allocator, out.sids + 1);
  int64_t sid = 0;
  for (int64_t item = 0; item < out.items; ++item) {
    if ((out.rows[item] & kSameSid) == 0) out.item_offsets[sid++] = item;
    out.rows[item] &= ~kSameSid;
  }
  out.item_offsets[sid] = out.items;
}

}  // namespace

int64_t SortedCatalogue::bytes() const {
  int64_t sum = first_new.bytes() + item_offsets.bytes() + rows.bytes();
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

int64_t sorted_bytes(const KeyLayout& layout, int64_t rows) { return checked_bytes(rows, 8 * layout.words + 8 + 1); }

int64_t most_bytes_to_sort(const KeyLayout& layout, int64_t rows, int threads) {
  return sorted_bytes(layout, rows) + std::max(most_sort_bytes(rows, threads), checked_bytes(rows, 8));
}

SortedCatalogue sort_catalogue(Catalogue& catalogue, const sidbeam_builder_config& config, int threads) {
  SortedCatalogue out(catalogue.layout);
  const Allocator& allocator = catalogue.allocator;
  const int64_t rows = catalogue.rows;
  Progress progress(config, SIDBEAM_PHASE_SORT, 2 * rows);
  out.words.emplace_back(allocator, rows);
  out.rows = Buffer<uint64_t>(allocator, rows);
  const SortParts apart = take_apart(catalogue, threads, out.words[0], out.rows, progress);
  for (int w = 1; w < catalogue.layout.words; ++w) out.words.emplace_back(allocator, rows);
  out.first_new = Buffer<uint8_t>(allocator, rows);
  join(settle_all(catalogue, config, threads, apart.parts, out, progress), out, progress);
  count_items(allocator, out);
  out.sort_bytes = sorted_bytes(out.layout, rows) + std::max(apart.bytes, out.item_offsets.bytes());
  return out;
}

}  // namespace sidbeam
