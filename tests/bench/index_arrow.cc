// Table arrow: pairs into a builder, from rows in memory and from Arrow's layouts of the same pairs.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <numeric>

#include "index_tables.h"

namespace bench {
namespace {

constexpr int32_t kArrowLevels = 4;
constexpr int64_t kBatchRows = 1 << 17;  // of what Parquet's readers hand out

// Columns of a table, each of one buffer or two; and the lists' elements.
struct Column {
  const char *format, *name;
  const void *first, *second;  // buffers after the validity bitmap
  int64_t buffers;
  const Column* elements;
  int64_t per_row;  // elements of a list
};

// A stream of slices of these columns, which owns nothing.
struct Table {
  std::vector<Column> columns;
  int64_t rows = 0, next = 0;
};

void keep_schema(ArrowSchema* schema) { schema->release = nullptr; }

struct ArrayMemory {
  std::vector<ArrowArray> arrays;  // the batch's columns, each before its elements
  std::vector<ArrowArray*> children;
  std::vector<const void*> buffers;
};

void free_batch(ArrowArray* batch) {
  delete static_cast<ArrayMemory*>(batch->private_data);
  batch->release = nullptr;
}

void keep_array(ArrowArray* array) { array->release = nullptr; }

ArrowSchema schema_of(const Column& column) {
  ArrowSchema schema = {};
  schema.format = column.format;
  schema.name = column.name;
  schema.release = keep_schema;
  return schema;
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  static thread_local std::vector<ArrowSchema> schemas;
  static thread_local std::vector<ArrowSchema*> children, elements;
  const auto& table = *static_cast<Table*>(stream->private_data);
  schemas.clear();
  children.clear();
  schemas.reserve(2 * table.columns.size());
  elements.assign(table.columns.size(), nullptr);
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    children.push_back(&schemas.emplace_back(schema_of(column)));
    if (column.elements == nullptr) continue;
    elements[i] = &schemas.emplace_back(schema_of(*column.elements));
    children.back()->n_children = 1;
    children.back()->children = &elements[i];
  }
  *out = {};
  out->format = "+s";
  out->n_children = static_cast<int64_t>(children.size());
  out->children = children.data();
  out->release = keep_schema;
  return 0;
}

ArrowArray array_of(const Column& column, int64_t length, int64_t offset, ArrayMemory& memory) {
  ArrowArray array = {};
  array.length = length;
  array.offset = offset;
  array.n_buffers = column.buffers;
  array.buffers = memory.buffers.data() + memory.buffers.size();
  array.release = keep_array;
  for (const void* buffer : {static_cast<const void*>(nullptr), column.first, column.second})
    memory.buffers.push_back(buffer);
  return array;
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  auto& table = *static_cast<Table*>(stream->private_data);
  *out = {};
  const int64_t rows = std::min(kBatchRows, table.rows - table.next);
  if (rows == 0) return 0;
  auto* const memory = new ArrayMemory;
  memory->arrays.reserve(2 * table.columns.size());
  memory->children.reserve(2 * table.columns.size());
  memory->buffers.reserve(6 * table.columns.size() + 1);
  memory->buffers.push_back(nullptr);  // of the batch
  for (const Column& column : table.columns)
    memory->children.push_back(&memory->arrays.emplace_back(array_of(column, rows, table.next, *memory)));
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const Column& column = table.columns[i];
    if (column.elements == nullptr) continue;
    const int64_t elements = table.rows * column.per_row;
    memory->children.push_back(&memory->arrays.emplace_back(array_of(*column.elements, elements, 0, *memory)));
    memory->arrays[i].n_children = 1;
    memory->arrays[i].children = &memory->children.back();
  }
  out->length = rows;
  out->n_buffers = 1;
  out->buffers = memory->buffers.data();
  out->n_children = static_cast<int64_t>(table.columns.size());
  out->children = memory->children.data();
  out->release = free_batch;
  out->private_data = memory;
  table.next += rows;
  return 0;
}

void release_stream(ArrowArrayStream* stream) { stream->release = nullptr; }

void add_table(sidbeam_builder* builder, Table table) {
  ArrowArrayStream stream = {get_schema, get_next, nullptr, release_stream, &table};
  sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
  if (std::strcmp(table.columns[0].name, "l0") == 0) config.level_prefix = "l";
  int64_t pairs = 0;
  call("builder_add_arrow", sidbeam_builder_add_arrow, builder, &stream, &config, &pairs);
  if (pairs != table.rows) throw std::runtime_error("the stream's pairs were not all added");
}

// The same pairs in every layout.
struct Pairs {
  explicit Pairs(int64_t rows)
      : count(rows),
        codes(draw_rows(rows, kArrowLevels, kCodes, 1)),
        wide(codes.data(), codes.data() + codes.size()),
        offsets(static_cast<size_t>(rows + 1)),
        ids(static_cast<size_t>(rows)),
        name_ends(static_cast<size_t>(rows + 1)),
        narrow_ends(static_cast<size_t>(rows + 1)) {
    for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = static_cast<int32_t>(i) * kArrowLevels;
    std::iota(ids.begin(), ids.end(), int64_t{1} << 33);
    for (size_t l = 0; l < kArrowLevels; ++l) {
      levels[l].resize(ids.size());
      for (size_t i = 0; i < ids.size(); ++i) levels[l][i] = static_cast<uint16_t>(wide[i * kArrowLevels + l]);
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      names += "B" + std::to_string(1000000000 + i);  // like an ASIN
      name_ends[i + 1] = static_cast<int64_t>(names.size());
      narrow_ends[i + 1] = static_cast<int32_t>(names.size());
    }
  }

  Table lists(const Column& elements, const char* format, const Column& item) const {
    const void* const ends = format[1] == 'w' ? nullptr : offsets.data();
    return {{{format, "sid", ends, nullptr, ends == nullptr ? 1 : 2, &elements, kArrowLevels}, item}, count, 0};
  }
  Table columns(const Column& item) const {
    static constexpr const char* kNames[] = {"l0", "l1", "l2", "l3"};
    Table table{{}, count, 0};
    for (size_t l = 0; l < kArrowLevels; ++l)
      table.columns.push_back({"S", kNames[l], levels[l].data(), nullptr, 2, nullptr, 0});
    table.columns.push_back(item);
    return table;
  }

  int64_t count;
  Pages<int32_t> codes;
  std::vector<int64_t> wide;
  std::vector<int32_t> offsets;
  std::vector<uint16_t> levels[kArrowLevels];
  std::vector<int64_t> ids, name_ends;
  std::vector<int32_t> narrow_ends;
  std::string names;
};

using Way = std::pair<const char*, std::function<void(sidbeam_builder*)>>;

std::vector<Way> numbered_ways(const Pairs& p, const std::vector<Column>& of) {
  return {
      {"sidbeam_builder_add",
       [&](sidbeam_builder* builder) {
         call("builder_add", sidbeam_builder_add, builder, p.codes.data(), nullptr, p.count, p.ids.data(), nullptr);
       }},
      {"fixed-size lists of int32, int64", [&](sidbeam_builder* b) { add_table(b, p.lists(of[0], "+w:4", of[2])); }},
      {"lists of int32, int64", [&](sidbeam_builder* b) { add_table(b, p.lists(of[0], "+l", of[2])); }},
      {"lists of int64, int64", [&](sidbeam_builder* b) { add_table(b, p.lists(of[1], "+l", of[2])); }},
      {"four columns of uint16, int64", [&](sidbeam_builder* b) { add_table(b, p.columns(of[2])); }}};
}

std::vector<Way> named_ways(const Pairs& p, const std::vector<Column>& of) {
  return {{"sidbeam_builder_add_named",
           [&](sidbeam_builder* builder) {
             call("builder_add_named", sidbeam_builder_add_named, builder, p.codes.data(), nullptr, p.count,
                  p.names.data(), p.name_ends.data(), nullptr);
           }},
          {"fixed-size lists of int32, large strings",
           [&](sidbeam_builder* b) { add_table(b, p.lists(of[0], "+w:4", of[3])); }},
          {"lists of int64, strings", [&](sidbeam_builder* b) { add_table(b, p.lists(of[1], "+l", of[4])); }}};
}

Builder new_builder(sidbeam_runtime* runtime, bool named) {
  const std::vector<int32_t> codes(kArrowLevels, kCodes);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = kArrowLevels;
  config.codes = codes.data();
  config.id_type = named ? SIDBEAM_ID_STRING : SIDBEAM_ID_I64;
  return make<Builder>("builder_create", sidbeam_builder_create, runtime, &config);
}

// In turns, so that the machine's speed of the moment is the same for all; on one thread, by its processor time.
void measure(Measurements& out, const std::vector<Way>& ways, bool named, int64_t rows, int runs) {
  const Runtime runtime = runtime_of(1);
  std::vector<std::vector<double>> rates(ways.size());
  for (int run = 0; run < runs; ++run) {
    for (size_t w = 0; w < ways.size(); ++w) {
      const Builder builder = new_builder(runtime.get(), named);
      const double begin = processor_seconds();
      ways[w].second(builder.get());
      const double seconds = processor_seconds() - begin;
      rates[w].push_back(static_cast<double>(rows) / seconds / 1e6);
    }
  }
  const Case where = {{"V", int64_t{kCodes}}, {"L", int64_t{kArrowLevels}}, {"N", rows}, {"time", "processor"}};
  for (size_t w = 0; w < ways.size(); ++w)
    out.push_back({"arrow", where, ways[w].first, "M rows/s", summarise(rates[w]), named ? "ids are text" : ""});
}

}  // namespace

Measurements arrow_table(const Settings& settings) {
  Measurements out;
  const int64_t rows = settings.quick ? 200000 : 10000000;
  const int runs = settings.quick ? 2 : 7;
  const Pairs pairs(rows);
  const std::vector<Column> of = {{"i", "", pairs.codes.data(), nullptr, 2, nullptr, 0},
                                  {"l", "", pairs.wide.data(), nullptr, 2, nullptr, 0},
                                  {"l", "item", pairs.ids.data(), nullptr, 2, nullptr, 0},
                                  {"U", "item", pairs.name_ends.data(), pairs.names.data(), 3, nullptr, 0},
                                  {"u", "item", pairs.narrow_ends.data(), pairs.names.data(), 3, nullptr, 0}};
  measure(out, numbered_ways(pairs, of), false, rows, runs);
  measure(out, named_ways(pairs, of), true, rows, runs);
  return out;
}

}  // namespace bench
