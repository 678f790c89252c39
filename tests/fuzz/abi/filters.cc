// Filters of every kind, and constraints with rules: made, changed, joined, asked and dropped in any order.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string_view>

#include "caps.h"
#include "catalogs.h"
#include "operations.h"
#include "pairs.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostFilters = 6, kMostRuled = 4;

}  // namespace

void keep_filter(World& world, World::Filter filter) {
  if (world.filters.size() >= kMostFilters) return ABI(filter_release)(filter.handle);
  world.filters.push_back(std::move(filter));
}

namespace {

void filter_items(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const int32_t fault = world.fault(7);
  const DrawnItems items = draw_items(world, *index.facts, fault > 4 ? 0 : fault);
  const In<sidbeam_item_list> argument(world, items.list);
  world.expected.fails_if(fault > 4, SIDBEAM_INVALID_ARGUMENT);
  Out<int64_t> unknown(world, 1);
  Out<sidbeam_filter*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_from_items)(fault == 5 ? nullptr : index.handle, fault == 6 ? nullptr : argument.get(),
                                  world.flip() ? unknown.get() : nullptr, fault == 7 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) keep_filter(world, {*out, index.facts, index.handle, false});
}

void filter_rows(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const int32_t fault = world.fault(5);
  const auto items = static_cast<size_t>(index.facts->items);
  sidbeam_row_set rows = SIDBEAM_ROW_SET_INIT;
  rows.encoding = world.in(SIDBEAM_ROWS_BITS, SIDBEAM_ROWS_ROARING);
  rows.offset = rows.encoding == SIDBEAM_ROWS_BITS ? world.in(0, 9) : 0;
  size_t bytes = rows.encoding == SIDBEAM_ROWS_BITS    ? (items + static_cast<size_t>(rows.offset) + 7) / 8
                 : rows.encoding == SIDBEAM_ROWS_BYTES ? items
                                                       : static_cast<size_t>(world.in(0, 40));
  if (fault == 1 && bytes > 0) --bytes;  // no Roaring bitmap has none
  std::vector<uint8_t> data(bytes);
  for (uint8_t& byte : data) byte = static_cast<uint8_t>(world.in(0, 255));
  const Array<uint8_t> given(std::move(data));
  rows.data = given.get();
  rows.bytes = fault == 2 ? -1 : static_cast<int64_t>(bytes);
  if (fault == 3) rows.encoding = world.flip() ? -1 : 3;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (rows.encoding == SIDBEAM_ROWS_ROARING) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_row_set> argument(world, rows);
  Out<sidbeam_filter*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_from_rows)(fault == 4 ? nullptr : index.handle, argument.get(), fault == 5 ? nullptr : out.get(),
                                 err);
  });
  if (status == SIDBEAM_OK) keep_filter(world, {*out, index.facts, index.handle, false});
}

enum class ValueKind { kIntegers, kNumbers, kBools, kStrings };

// An attribute to compare with, and values of which kind: mostly of its type, or it could hardly ever be done.
struct Compared {
  const char* name;
  ValueKind kind;
};

Compared draw_attribute(World& world, const Held<sidbeam_index>& index) {
  // As the random builder declares them, and one that it does not.
  static constexpr const char* kNames[] = {"price", "score", "stock", "brand", "tags", "no such attribute"};
  static constexpr ValueKind kKinds[] = {ValueKind::kIntegers, ValueKind::kNumbers, ValueKind::kBools,
                                         ValueKind::kStrings, ValueKind::kStrings};  // by type
  const Compared any{kNames[world.in(0, 5)], static_cast<ValueKind>(world.in(0, 3))};
  const auto attributes = static_cast<int32_t>(index.facts->attribute_count);
  if (attributes == 0 || world.one_in(4)) return any;
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  const int64_t attribute = world.in(0, attributes - 1);
  FUZZ_CHECK(ABI(index_get_attribute)(index.handle, attribute, &info, nullptr) == SIDBEAM_OK);
  return {info.name, world.one_in(4) ? any.kind : kKinds[info.type - SIDBEAM_ATTRIBUTE_I64]};
}

void filter_term(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const int32_t fault = world.fault(4);
  sidbeam_term term = SIDBEAM_TERM_INIT;
  term.op = fault == 1 ? (world.flip() ? 0 : 11) : world.in(SIDBEAM_TERM_EQUAL, SIDBEAM_TERM_IS_NULL);
  const Compared compared = draw_attribute(world, index);
  term.attribute = fault == 2 ? nullptr : compared.name;
  term.count = term.op == SIDBEAM_TERM_IS_NULL ? 0 : world.in(0, 3);
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  std::vector<uint8_t> bools;
  for (int64_t i = 0; i < term.count; ++i) {
    integers.push_back(world.one_in(4) ? world.strange() : world.in(-3, 9));
    numbers.push_back(static_cast<double>(integers.back()) / 2);
    bools.push_back(static_cast<uint8_t>(world.in(0, 2)));
  }
  const Array<int64_t> as_integers(std::move(integers));
  const Array<double> as_numbers(std::move(numbers));
  const Array<uint8_t> as_bools(std::move(bools));
  const std::vector<const char*> strings(static_cast<size_t>(term.count), "a\xc3\xa9");
  if (term.count > 0) {
    if (compared.kind == ValueKind::kIntegers) term.integers = as_integers.get();
    if (compared.kind == ValueKind::kNumbers) term.numbers = as_numbers.get();
    if (compared.kind == ValueKind::kBools) term.bools = as_bools.get();
    if (compared.kind == ValueKind::kStrings) term.strings = strings.data();
  }
  if (fault == 3) term.count = -1;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);  // of another type, or no attribute of this index
  const In<sidbeam_term> argument(world, term);
  Out<sidbeam_filter*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_from_term)(fault == 4 ? nullptr : index.handle, argument.get(), out.get(), err);
  });
  if (status == SIDBEAM_OK) keep_filter(world, {*out, index.facts, index.handle, true});
}

void filter_text(World& world) {
  if (world.indexes.empty()) return;
  static constexpr std::string_view kTexts[] = {"true",
                                                "price<3 or brand is null",
                                                "not (stock and tags contains a)",
                                                "score between -1 and 2.5",
                                                "price in (1, 2",
                                                "\xff",
                                                ""};
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const int32_t fault = world.fault(3);
  const std::string_view text = kTexts[world.in(0, 6)];
  const Array<char> given(std::vector<char>(text.begin(), text.end()));
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  Out<sidbeam_filter*> out(world, 1);
  sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_parse)(fault == 1 ? nullptr : index.handle, fault == 2 ? nullptr : given.get(),
                             fault == 3 ? -1 : std::ssize(text), out.get(), err);
  });
  if (status == SIDBEAM_OK) keep_filter(world, {*out, index.facts, index.handle, true});
  if (world.filters.empty()) return;
  const World::Filter& asked = world.any(world.filters);
  const auto capacity = static_cast<size_t>(world.in(0, 30));
  Out<char> printed(world, capacity);
  Out<int64_t> bytes(world, 1);
  world.expected.fails_if(!asked.has_text, SIDBEAM_UNSUPPORTED);
  status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_text)(asked.handle, static_cast<int64_t>(capacity), printed.get(), bytes.get(), err);
  });
  if (status == SIDBEAM_OK) FUZZ_CHECK(*bytes > 0);
}

void combine(World& world) {
  if (world.filters.empty()) return;
  const int32_t fault = world.fault(4);
  const int32_t op = fault == 1 ? (world.flip() ? -1 : 3) : world.in(SIDBEAM_FILTER_AND, SIDBEAM_FILTER_NOT);
  const int64_t count = fault == 2 ? 0 : op == SIDBEAM_FILTER_NOT ? 1 : world.in(1, 3);
  std::vector<sidbeam_filter*> operands;
  const World::Filter& first = world.any(world.filters);
  bool has_text = true, foreign = false;
  for (int64_t i = 0; i < std::max<int64_t>(count, 1); ++i) {
    const World::Filter& one = i == 0 ? first : world.any(world.filters);
    operands.push_back(one.handle);
    has_text = has_text && one.has_text;
    foreign = foreign || one.index != first.index;
  }
  world.expected.fails_if(fault != 0 || foreign, SIDBEAM_INVALID_ARGUMENT);
  Out<sidbeam_filter*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_combine)(op, fault == 3 ? nullptr : operands.data(), count, fault == 4 ? nullptr : out.get(),
                               err);
  });
  if (status == SIDBEAM_OK) keep_filter(world, {*out, first.facts, first.index, has_text});
}

void update(World& world) {
  if (world.filters.empty()) return;
  const World::Filter& filter = world.any(world.filters);
  const int32_t fault = world.fault(6);
  const DrawnItems items = draw_items(world, *filter.facts, fault > 4 ? 0 : fault);
  std::vector<uint8_t> values(12);
  for (uint8_t& value : values) value = static_cast<uint8_t>(world.in(0, 2));
  const Array<uint8_t> allowed(std::move(values));
  const In<sidbeam_item_list> argument(world, items.list);
  world.expected.fails_if(fault == 5 || (fault == 6 && items.list.count > 0), SIDBEAM_INVALID_ARGUMENT);
  Out<int64_t> unknown(world, 1);
  Out<sidbeam_filter*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_update)(fault == 5 ? nullptr : filter.handle, argument.get(),
                              fault == 6 ? nullptr : allowed.get(), unknown.get(), out.get(), err);
  });
  if (status == SIDBEAM_OK) keep_filter(world, {*out, filter.facts, filter.index, false});
}

void describe_filter(World& world) {
  if (world.filters.empty()) return;
  const World::Filter filter = world.any(world.filters);
  const int32_t fault = world.fault(2);
  if (world.flip()) {
    world.expected.fails_if((filter.facts->kinds & SIDBEAM_KIND_TRIE) == 0, SIDBEAM_MISSING_SECTION);
    world.attempt([&](sidbeam_error* err) { return ABI(filter_prepare)(filter.handle, err); });
  }
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_filter_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_get_info)(fault == 1 ? nullptr : filter.handle, fault == 2 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->items >= 0 && out->items <= filter.facts->items && out->bytes > 0);
  FUZZ_CHECK(out->sids >= (out->prepared != 0 ? 0 : -1) && out->sids <= filter.facts->sids);
  const uint64_t* bits = nullptr;
  int64_t words = 0, set = 0;
  FUZZ_CHECK(ABI(filter_rows)(filter.handle, &bits, &words, nullptr) == SIDBEAM_OK);
  for (int64_t w = 0; w < words; ++w) set += __builtin_popcountll(bits[w]);
  FUZZ_CHECK(set == out->items);
}

void share_filter(World& world) {
  if (world.one_in(4)) ABI(filter_retain)(nullptr);
  if (world.one_in(4)) ABI(filter_release)(nullptr);
  if (world.filters.empty()) return;
  World::Filter& one = world.any(world.filters);
  if (world.flip() && world.filters.size() < kMostFilters) {
    ABI(filter_retain)(one.handle);
    world.filters.push_back(World::Filter(one));
    return;
  }
  ABI(filter_release)(one.handle);
  std::swap(one, world.filters.back());
  world.filters.pop_back();
}

// What a constraint says of its rules, and of items under them.
void check_ruled(World& world, const Held<sidbeam_constraint>& ruled) {
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  FUZZ_CHECK(ABI(constraint_get_info)(ruled.handle, &info, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(info.allowed_sids >= 0 && info.allowed_sids <= info.sids);
  FUZZ_CHECK(info.allowed_items >= info.allowed_sids && info.allowed_items <= info.items);
  const int32_t fault = world.fault(2);
  const Array<int64_t> ordinals(std::vector<int64_t>{-1, world.in(0, static_cast<int32_t>(info.sids) - 1)});
  Out<int64_t> rows(world, 5), offsets(world, 3);
  Out<int32_t> came_short(world, 1);
  sidbeam_item_limits limits = SIDBEAM_ITEM_LIMITS_INIT;
  limits.limit_per_sid = world.in(0, 2);
  limits.limit = fault == 2 ? -1 : 5;
  limits.distinct = world.in(0, 1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const DrawnCap cap = draw_cap(world);
  limits.cap_attribute = cap.attribute;
  limits.cap = cap.most;
  const In<sidbeam_item_limits> argument(world, limits);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_items)(fault == 1 ? nullptr : ruled.handle, ordinals.get(), 2, argument.get(), rows.get(),
                                 offsets.get(), nullptr, came_short.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(offsets[1] == 0 && offsets[2] >= 0 && offsets[2] <= 5);
  FUZZ_CHECK(*came_short == 0 || (*came_short == 1 && cap.most > 0 && offsets[2] < 5));
}

void create_ruled(World& world) {
  if (world.indexes.empty() || world.ruled.size() >= kMostRuled) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index.handle;
  const bool filters = !world.filters.empty() && world.flip();
  if (filters) {
    const World::Filter& filter = world.any(world.filters);
    config.filter = filter.handle;
    world.expected.fails_if(filter.index != index.handle, SIDBEAM_INVALID_ARGUMENT);
  }
  const DrawnItems out_items = draw_items(world, *index.facts, 0), in_items = draw_items(world, *index.facts, 0);
  std::optional<In<sidbeam_item_list>> excluded, allowed;
  const bool excludes = world.flip(), allows = world.one_in(3);
  if (excludes) config.excluded = excluded.emplace(world, out_items.list).get();
  if (allows) config.allowed = allowed.emplace(world, in_items.list).get();
  if ((excludes || allows || filters) && (index.facts->kinds & SIDBEAM_KIND_TRIE) == 0)
    world.expected.fails(SIDBEAM_MISSING_SECTION);
  const In<sidbeam_constraint_config> argument(world, config);
  Out<sidbeam_constraint*> out(world, 1);
  const sidbeam_status status =
      world.attempt([&](sidbeam_error* err) { return ABI(constraint_create)(argument.get(), out.get(), err); });
  if (status != SIDBEAM_OK) return;
  world.ruled.push_back({*out, index.facts});
  check_ruled(world, world.ruled.back());
}

void exclude(World& world) {
  if (world.ruled.empty()) return;
  Held<sidbeam_constraint>& ruled = world.any(world.ruled);
  const int32_t fault = world.fault(6);
  const DrawnItems items = draw_items(world, *ruled.facts, fault > 4 ? 0 : fault);
  const In<sidbeam_item_list> argument(world, items.list);
  world.expected.fails_if(fault > 4, SIDBEAM_INVALID_ARGUMENT);
  if ((ruled.facts->kinds & SIDBEAM_KIND_TRIE) == 0) world.expected.fails(SIDBEAM_MISSING_SECTION);
  Out<sidbeam_constraint*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_exclude)(fault == 5 ? nullptr : ruled.handle, argument.get(),
                                   fault == 6 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  ABI(constraint_release)(ruled.handle);
  ruled.handle = *out;
  check_ruled(world, ruled);
}

}  // namespace

std::span<const Operation> filter_operations() {
  static constexpr Operation kAll[] = {filter_items, filter_rows,  filter_rows, filter_term,     filter_text, combine,
                                       update,       create_ruled, exclude,     describe_filter, share_filter};
  return kAll;
}

}  // namespace fuzz::abi
