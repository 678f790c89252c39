// Streams of Arrow's into builders, and what they hold. (fuzz_arrow has every layout; here it is the calls.)
// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "../arrow/columns.h"
#include "builders.h"

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

std::vector<std::optional<List>> draw_sids(World& world, const Builder& builder, int32_t rows) {
  std::vector<std::optional<List>> sids;
  for (int32_t i = 0; i < rows; ++i) {
    List& sid = sids.emplace_back().emplace();
    const int32_t length =
        builder.config.variable_length != 0 ? world.in(1, builder.config.levels) : builder.config.levels;
    for (int32_t l = 0; l < length; ++l) sid.emplace_back(world.in(0, builder.codes[static_cast<size_t>(l)] - 1));
  }
  return sids;
}

void draw_table(World& world, Columns& columns, const Builder& builder, bool bad_code, bool with_items, Table& table) {
  const bool named = builder.config.id_type == SIDBEAM_ID_STRING;
  table.rows = world.in(bad_code ? 1 : 0, 8);
  auto sids = draw_sids(world, builder, static_cast<int32_t>(table.rows));
  if (bad_code) (*sids[0])[0] = builder.codes[0];
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

}  // namespace

void add_arrow(World& world) {
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  Columns columns(world.input);
  Table table;
  const int32_t fault = world.fault(4);
  const bool with_items = builder.ids < 0 ? world.flip() : builder.ids != 0;
  draw_table(world, columns, builder, fault == 1, with_items, table);
  sidbeam_arrow_config chosen = SIDBEAM_ARROW_CONFIG_INIT;
  if (fault == 2) chosen.sid = "no\x1b[2J such column\n";
  const In<sidbeam_arrow_config> config(world, chosen);
  Out<int64_t> pairs(world, 1);
  arrow_export(&table.source, &table.stream);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (builder.closed == Builder::kClosed) world.expected.fails(SIDBEAM_BAD_STATE);
  if (builder.closed == Builder::kUnknown) world.expected.may_fail(SIDBEAM_BAD_STATE);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(builder_add_arrow)(fault == 3 ? nullptr : builder.handle, fault == 4 ? nullptr : &table.stream,
                                  config.get(), pairs.get(), err);
  });
  if (fault == 4) table.stream.release(&table.stream);
  FUZZ_CHECK(table.stream.release == nullptr && table.source.streams == 0 && table.source.objects == 0);
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*pairs == table.rows);
  if (table.rows == 0) return;
  builder.rows += table.rows;
  builder.last_rows = table.rows;
  if (builder.config.id_type != SIDBEAM_ID_STRING) builder.ids = with_items ? 1 : 0;
}

void inspect_arrow(World& world) {
  if (world.builders.empty()) return;
  const Builder& builder = world.any(world.builders);
  Columns columns(world.input);
  Table table;
  const int32_t fault = world.fault(2);
  draw_table(world, columns, builder, false, world.flip(), table);
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
