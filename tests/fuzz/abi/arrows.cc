// Streams of Arrow's into builders and catalogues, and what they hold: the calls. (Every layout is fuzz_arrow's.)
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "../arrow/columns.h"
#include "builders.h"
#include "catalogs.h"
#include "pairs.h"

namespace fuzz::abi {
namespace {

using fuzz::arrow::Columns;
using fuzz::arrow::List;
using fuzz::arrow::Value;

struct Table {
  const arrow_column* batch = nullptr;
  arrow_source source = {};
  ArrowArrayStream stream = {};
  int64_t rows = 0;
};

std::vector<std::optional<List>> draw_sids(World& world, const Shape& shape, int32_t rows) {
  std::vector<std::optional<List>> sids;
  for (int32_t i = 0; i < rows; ++i) {
    List& sid = sids.emplace_back().emplace();
    const int32_t length = shape.variable_length ? world.in(1, shape.levels) : shape.levels;
    for (int32_t l = 0; l < length; ++l) sid.emplace_back(world.in(0, shape.codes[static_cast<size_t>(l)] - 1));
  }
  return sids;
}

void draw_table(World& world, Columns& columns, const Shape& shape, bool bad_code, bool with_items, Table& table) {
  const bool named = shape.id_type == SIDBEAM_ID_STRING;
  table.rows = world.in(bad_code ? 1 : 0, 8);
  auto sids = draw_sids(world, shape, static_cast<int32_t>(table.rows));
  if (bad_code) (*sids[0])[0] = shape.codes[0];
  std::vector<std::optional<std::string>> names;
  List ids;
  for (int64_t i = 0; i < table.rows; ++i) {
    names.emplace_back(std::string(static_cast<size_t>(world.in(0, 20)), 'n'));
    ids.emplace_back(world.in(0, 40));
  }
  std::vector<arrow_column*> children{columns.lists("codes", "+L", "i", sids, world.in(0, 2))};
  if (named) children.push_back(columns.texts("docid", "U", names, 0));
  if (!named && with_items) children.push_back(columns.numbers("docid", "l", ids, 0));
  table.batch = columns.batch(table.rows, 0, children);
  table.source.batches = &table.batch;
  table.source.count = 1;
  table.source.fail_at = -1;
}

// A table by add(handle is NULL, stream, config, pairs, err), which takes it all or refuses it; the rows that it took.
template <class Add>
int64_t add_table(World& world, const Shape& shape, bool with_items, const Add& add) {
  Columns columns(world.input);
  Table table;
  const int32_t fault = world.fault(4);
  draw_table(world, columns, shape, fault == 1, with_items, table);
  sidbeam_arrow_config chosen = SIDBEAM_ARROW_CONFIG_INIT;
  if (fault == 2) chosen.sid = "no\x1b[2J such column\n";
  const In<sidbeam_arrow_config> config(world, chosen);
  Out<int64_t> pairs(world, 1);
  arrow_export(&table.source, &table.stream);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return add(fault == 3, fault == 4 ? nullptr : &table.stream, config.get(), pairs.get(), err);
  });
  if (fault == 4) table.stream.release(&table.stream);
  FUZZ_CHECK(table.stream.release == nullptr && table.source.streams == 0 && table.source.objects == 0);
  if (status != SIDBEAM_OK) return 0;
  FUZZ_CHECK(*pairs == table.rows);
  return table.rows;
}

}  // namespace

void add_arrow(World& world) {
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  const bool with_items = builder.ids < 0 ? world.flip() : builder.ids != 0;
  if (builder.closed == Builder::kClosed) world.expected.fails(SIDBEAM_BAD_STATE);
  if (builder.closed == Builder::kUnknown) world.expected.may_fail(SIDBEAM_BAD_STATE);
  const int64_t rows = add_table(
      world, shape_of(builder), with_items,
      [&](bool none, ArrowArrayStream* stream, const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err) {
        return ABI(builder_add_arrow)(none ? nullptr : builder.handle, stream, config, pairs, err);
      });
  if (rows == 0) return;
  builder.rows += rows;
  builder.last_rows = rows;
  if (builder.config.id_type != SIDBEAM_ID_STRING) builder.ids = with_items ? 1 : 0;
}

void add_arrow_to_catalog(World& world, World::Catalog& catalog) {
  const Shape shape = shape_of(*catalog.facts);
  const bool with_items = shape.id_type == SIDBEAM_ID_STRING || !world.one_in(8);
  if (!with_items) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);  // unless there is no row
  world.expected.fails_if(catalog.follows, SIDBEAM_BAD_STATE);
  add_table(
      world, shape, with_items,
      [&](bool none, ArrowArrayStream* stream, const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err) {
        return ABI(catalog_add_arrow)(none ? nullptr : catalog.handle, stream, config, pairs, err);
      });
}

void inspect_arrow(World& world) {
  if (world.builders.empty()) return;
  const Builder& builder = world.any(world.builders);
  Columns columns(world.input);
  Table table;
  const int32_t fault = world.fault(2);
  draw_table(world, columns, shape_of(builder), false, world.flip(), table);
  Out<int32_t> codes(world, SIDBEAM_MAX_LEVELS);
  OutStruct<sidbeam_arrow_info> out(world);
  arrow_export(&table.source, &table.stream);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(arrow_inspect)(fault == 1 ? nullptr : &table.stream, nullptr, codes.get(),
                              fault == 2 ? nullptr : out.get(), err);
  });
  if (fault == 1) table.stream.release(&table.stream);
  FUZZ_CHECK(table.source.streams == 0 && table.source.objects == 0);
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->pairs == table.rows && out->levels <= builder.config.levels && out->shortest <= out->levels);
  for (int32_t l = 0; l < out->levels; ++l)
    FUZZ_CHECK(codes[static_cast<size_t>(l)] <= builder.codes[static_cast<size_t>(l)]);
}

}  // namespace fuzz::abi
