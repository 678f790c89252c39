// SPDX-License-Identifier: Apache-2.0
#include "index/build/arrow.h"

#include <algorithm>

#include "index/arrow/attributes.h"
#include "index/arrow/ids.h"
#include "index/arrow/sids.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using namespace arrow;
using ll = long long;

// Names and SIDs of lists of lists are gathered for as many pairs at a time; everything else is read where it lies.
constexpr int64_t kGathered = int64_t{1} << 18;
constexpr int64_t kInspected = int64_t{1} << 12;  // pairs at a time

struct Batch {
  Sids sids;
  std::optional<Items> items;
  std::optional<Numbers> priorities;
  const Field* priority = nullptr;                                 // the column
  std::vector<std::pair<std::string, AttributeCells>> attributes;  // by name
};

// A stream whose schema has been read.
struct Source {
  Source(Stream& given, const sidbeam_arrow_config& config) : stream(given) {
    Owned<ArrowSchema> read;
    stream.read_schema(read);
    schema = read_schema(read.value);
    columns = choose_columns(schema, config);
  }
  const Field* column(int which) const { return which < 0 ? nullptr : &schema.children[static_cast<size_t>(which)]; }
  // False at the end.
  bool next(Batch& batch) {
    if (!stream.next(array)) return false;
    check_batch(schema, array.value);
    batch.sids = read_sids(schema, columns, array.value, rows);
    const Nulls nulls(array.value);
    for (int64_t row = 0; row < batch.sids.rows && !columns.bare && nulls.any(); ++row)
      if (nulls.at(row))
        fail(SIDBEAM_INVALID_ARGUMENT, "row %lld is null, expected a SID", static_cast<ll>(rows + row));
    batch.items = read_items(schema, columns, batch.sids, array.value);
    batch.priorities = read_priorities(schema, columns, batch.sids, array.value);
    batch.priority = column(columns.priority);
    batch.attributes.clear();
    for (const int attribute : columns.attributes)
      batch.attributes.emplace_back(column(attribute)->name,
                                    AttributeCells(*column(attribute), batch.sids, *array.value.children[attribute]));
    rows += batch.sids.rows;
    return true;
  }

  Stream& stream;
  Field schema;
  Columns columns;
  Owned<ArrowArray> array;  // the batch
  int64_t rows = 0;         // of the batches so far
};

bool has_lists_of_sids(const Source& source) {
  const Field& field = *sid_fields(source.schema, source.columns)[0];
  return is_list(field.type) && is_list(field.children[0].type);
}

// What the schema alone tells: whether the ids are those that the builder takes.
void check_columns(const Source& source, const Catalogue& catalogue) {
  const Field* const item = source.column(source.columns.item);
  const bool named = catalogue.id_type == IdType::kString;
  if (item == nullptr && named)
    fail(SIDBEAM_INVALID_ARGUMENT, "no column of items, expected one of text: the builder's ids are strings");
  if (item == nullptr && has_lists_of_sids(source))
    fail(SIDBEAM_INVALID_ARGUMENT, "no column of items, expected one where an item has several SIDs");
  if (item != nullptr && are_text(*item) != named)
    fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' holds %s, expected %s: the builder's ids are %s", item->shown.c_str(),
         named ? "numbers" : "text", named ? "text" : "integers", named ? "strings" : "integers");
  const size_t levels = source.columns.levels.size(), expected = static_cast<size_t>(catalogue.layout.levels);
  if (levels > expected || (levels > 0 && levels < expected && !catalogue.layout.variable_length))
    fail(SIDBEAM_INVALID_ARGUMENT, "%zu columns of levels, expected %s%zu", levels,
         catalogue.layout.variable_length ? "at most " : "", expected);
}

void add_pairs(Catalogue& catalogue, const Batch& batch, const Pairs& from, int threads) {
  const KeyLayout& layout = catalogue.layout;
  Catalogue::Pairs pairs;
  Buffer<std::string_view> names;
  pairs.count = from.count;
  pairs.codes = codes_in_place(from, layout.levels);
  if (pairs.codes == nullptr)
    pairs.read_codes = [&](int64_t begin, int64_t count, int32_t* codes, int32_t* lengths) {
      return read_codes(from, begin, count, layout.levels, codes, lengths);
    };
  if (batch.items && catalogue.id_type == IdType::kString) {
    names = read_names(*batch.items, from, catalogue.allocator);
    pairs.names = names.data();
  } else if (batch.items) {
    pairs.ids = ids_in_place(*batch.items, from, catalogue.id_type);
    if (pairs.ids == nullptr)
      pairs.read_ids = [&](int64_t begin, int64_t count, int64_t* ids) {
        read_ids(*batch.items, from, catalogue.id_type, begin, count, ids);
      };
  }
  if (batch.priorities) {
    pairs.priorities = priorities_in_place(*batch.priorities, from);
    if (pairs.priorities == nullptr)
      pairs.read_priorities = [&](int64_t begin, int64_t count, int64_t* priorities) {
        read_ranks(*batch.priority, *batch.priorities, from, begin, count, priorities);
      };
  }
  try {
    catalogue.add(pairs, threads);
  } catch (const Failure& failure) {
    // The catalogue has seen codes. What stood there, and in which column, is looked up once something is wrong.
    if (failure.status == SIDBEAM_INVALID_ARGUMENT)
      find_bad_sid(from, {layout.levels, layout.variable_length, layout.codes});
    throw;
  }
  for (const auto& [name, cells] : batch.attributes) {
    AttributeColumn& to = *catalogue.attributes.find(name);
    cells.read(from, to.type, catalogue.allocator,
               [&](const AttributeValues& values) { to.set(values, catalogue.rows - from.count); });
  }
}

// Declares the attributes of the stream, except those that are declared already; returns the new ones. Integers may go
// where the builder's type is f32.
std::vector<std::string> declare_attributes(Catalogue& catalogue, const Source& source) {
  std::vector<std::string> declared;
  try {
    for (const int i : source.columns.attributes) {
      const Field& column = *source.column(i);
      AttributeType type = attribute_type_of(column);
      const AttributeColumn* const known = catalogue.attributes.find(column.name);
      if (known != nullptr && known->type == AttributeType::kF32 && type == AttributeType::kI64) type = known->type;
      catalogue.attributes.declare(column.name.c_str(), static_cast<int32_t>(type), catalogue.rows);
      if (known == nullptr) declared.push_back(column.name);
    }
  } catch (...) {
    for (const std::string& name : declared) catalogue.attributes.remove(name);
    throw;
  }
  return declared;
}

void add_batches(Catalogue& catalogue, Source& source, int threads) {
  const bool gathers =
      has_lists_of_sids(source) || catalogue.id_type == IdType::kString || !source.columns.attributes.empty();
  Batch batch;
  while (source.next(batch)) {
    Cursor cursor;
    for (;;) {
      const Pairs pairs = next_pairs(batch.sids, gathers ? kGathered : INT64_MAX, cursor);
      if (pairs.count == 0) break;
      add_pairs(catalogue, batch, pairs, threads);
    }
  }
}

// The lengths and codes of some pairs, into what is known of those before.
void inspect(const Pairs& pairs, std::vector<int32_t>& codes, std::vector<int32_t>& lengths, int32_t* most,
             sidbeam_arrow_info& info) {
  find_bad_sid(pairs, {kMaxLevels, true, nullptr});
  const auto levels = static_cast<int>(std::min<int64_t>(longest(pairs), kMaxLevels));
  codes.resize(static_cast<size_t>(pairs.count * levels));
  lengths.assign(static_cast<size_t>(pairs.count), levels);
  (void)read_codes(pairs, 0, pairs.count, levels, codes.data(), lengths.data());
  for (int64_t i = 0; i < pairs.count; ++i) {
    const int32_t length = lengths[static_cast<size_t>(i)];
    info.levels = std::max(info.levels, length);
    info.shortest = std::min(info.shortest, length);
    for (int l = 0; l < length; ++l) most[l] = std::max(most[l], codes[static_cast<size_t>(i * levels + l)] + 1);
  }
  info.pairs += pairs.count;
}

// Of integers: U64 where they come as such.
int32_t id_type_of(const Field* item) {
  if (item == nullptr) return SIDBEAM_ID_I64;
  if (are_text(*item)) return SIDBEAM_ID_STRING;
  const Type type = item->dictionary.empty() ? item->type : item->dictionary[0].type;
  return type == Type::kU64 ? SIDBEAM_ID_U64 : SIDBEAM_ID_I64;
}

}  // namespace

int64_t add_arrow(Catalogue& catalogue, Stream& stream, const sidbeam_arrow_config& config, int threads) {
  Source source(stream, config);
  check_columns(source, catalogue);
  const Catalogue::Mark before = catalogue.mark();
  const std::vector<std::string> declared = declare_attributes(catalogue, source);
  try {
    add_batches(catalogue, source, threads);
  } catch (...) {
    catalogue.rewind(before);
    for (const std::string& name : declared) catalogue.attributes.remove(name);
    throw;
  }
  return catalogue.rows - before.rows;
}

sidbeam_arrow_info inspect_arrow(Stream& stream, const sidbeam_arrow_config& config, int32_t* codes) {
  Source source(stream, config);
  const Field* const item = source.column(source.columns.item);
  sidbeam_arrow_info info = SIDBEAM_ARROW_INFO_INIT;
  info.shortest = kMaxLevels;
  info.id_type = id_type_of(item);
  info.items = item != nullptr;
  info.priorities = source.columns.priority >= 0;
  int32_t most[kMaxLevels] = {};
  std::vector<int32_t> read, lengths;
  Batch batch;
  while (source.next(batch)) {
    Cursor cursor;
    for (;;) {
      const Pairs pairs = next_pairs(batch.sids, kInspected, cursor);
      if (pairs.count == 0) break;
      inspect(pairs, read, lengths, most, info);
    }
  }
  if (info.pairs == 0) info.shortest = 0;
  if (codes != nullptr) std::copy_n(most, info.levels, codes);
  return info;
}

}  // namespace sidbeam
