// Attributes: declared and set in builders, read from indexes.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string_view>

#include "attributes.h"
#include "builders.h"
#include "lookups.h"

namespace fuzz::abi {
namespace {

struct Declared {
  const char* name;
  int32_t type;
};
constexpr Declared kDeclared[kAttributes] = {{"price", SIDBEAM_ATTRIBUTE_I64},
                                             {"score", SIDBEAM_ATTRIBUTE_F32},
                                             {"stock", SIDBEAM_ATTRIBUTE_BOOL},
                                             {"brand", SIDBEAM_ATTRIBUTE_STRING},
                                             {"tags", SIDBEAM_ATTRIBUTE_STRING_LIST}};

}  // namespace

Column draw_column(World& world, int32_t which, int64_t count) {
  const Declared& declared = kDeclared[which];
  Column drawn;
  std::vector<uint8_t> valid, bools;
  std::vector<int64_t> integers, offsets{0}, lists{0};
  std::vector<float> numbers;
  std::vector<char> text;
  const auto add_string = [&] {
    for (int32_t k = world.in(0, 2); k > 0; --k) text.push_back(world.one_in(24) ? '\xff' : 'a');
    offsets.push_back(std::ssize(text));
  };
  for (int64_t i = 0; i < count; ++i) {
    valid.push_back(static_cast<uint8_t>(world.in(0, 3)));
    bools.push_back(static_cast<uint8_t>(world.in(0, 2)));
    integers.push_back(world.one_in(8) ? world.strange() : world.in(-2, 6));
    numbers.push_back(static_cast<float>(integers.back()) / 4);
    if (declared.type == SIDBEAM_ATTRIBUTE_STRING) add_string();
    for (int32_t k = declared.type == SIDBEAM_ATTRIBUTE_STRING_LIST ? world.in(0, 2) : 0; k > 0; --k) add_string();
    lists.push_back(std::ssize(offsets) - 1);
  }
  drawn.column.name = declared.name;
  drawn.valid = Array<uint8_t>(std::move(valid));
  drawn.bools = Array<uint8_t>(std::move(bools));
  drawn.integers = Array<int64_t>(std::move(integers));
  drawn.numbers = Array<float>(std::move(numbers));
  drawn.offsets = Array<int64_t>(std::move(offsets));
  drawn.lists = Array<int64_t>(std::move(lists));
  drawn.text = Array<char>(std::move(text));
  if (world.flip()) drawn.column.valid = drawn.valid.get();
  drawn.column.integers = drawn.integers.get();
  drawn.column.numbers = drawn.numbers.get();
  drawn.column.bools = drawn.bools.get();
  drawn.column.text = drawn.text.get();
  drawn.column.offsets = drawn.offsets.get();
  if (declared.type == SIDBEAM_ATTRIBUTE_STRING_LIST) drawn.column.lists = drawn.lists.get();
  return drawn;
}

namespace {

// The strings that codes name: the first, and none before it or after the last.
void read_strings(const Held<sidbeam_index>& index, int64_t attribute, const sidbeam_attribute_info& info) {
  const char* text = nullptr;
  int64_t bytes = -1;
  const bool has_strings = info.type == SIDBEAM_ATTRIBUTE_STRING || info.type == SIDBEAM_ATTRIBUTE_STRING_LIST;
  for (const int64_t code : {int64_t{-1}, int64_t{0}, info.distinct}) {
    const sidbeam_status status = ABI(index_attribute_string)(index.handle, attribute, code, &text, &bytes, nullptr);
    FUZZ_CHECK((status == SIDBEAM_OK) == (has_strings && code >= 0 && code < info.distinct));
    if (status == SIDBEAM_OK) FUZZ_CHECK(bytes >= 0 && std::string(text, static_cast<size_t>(bytes)).size() < 1000);
  }
}

void read_values(World& world, const Held<sidbeam_index>& index, int64_t attribute,
                 const sidbeam_attribute_info& info) {
  const int64_t items = index.facts->items;
  const auto count = static_cast<size_t>(world.input.ConsumeIntegralInRange<int64_t>(0, std::min<int64_t>(items, 9)));
  const int64_t row = world.input.ConsumeIntegralInRange<int64_t>(0, items - static_cast<int64_t>(count));
  const auto n = static_cast<int64_t>(count);
  Out<int64_t> values(world, count), offsets(world, count + 1), codes(world, static_cast<size_t>(info.codes));
  Out<float> numbers(world, count);
  Out<uint8_t> valid(world, count);
  world.expected.fails_if(info.type == SIDBEAM_ATTRIBUTE_F32 || info.type == SIDBEAM_ATTRIBUTE_STRING_LIST,
                          SIDBEAM_INVALID_ARGUMENT);
  world.attempt([&](sidbeam_error* err) {
    return ABI(index_attribute_integers)(index.handle, attribute, row, n, values.get(), valid.get(), err);
  });
  world.expected.fails_if(info.type != SIDBEAM_ATTRIBUTE_F32, SIDBEAM_INVALID_ARGUMENT);
  world.attempt([&](sidbeam_error* err) {
    return ABI(index_attribute_numbers)(index.handle, attribute, row, n, numbers.get(), valid.get(), err);
  });
  world.expected.fails_if(info.type != SIDBEAM_ATTRIBUTE_STRING_LIST, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_attribute_lists)(index.handle, attribute, row, n, offsets.get(), info.codes, codes.get(),
                                      valid.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  for (int64_t i = 0; i < n; ++i) FUZZ_CHECK(offsets.get()[i] <= offsets.get()[i + 1]);
  for (int64_t i = 0; i < offsets.get()[n]; ++i) FUZZ_CHECK(codes.get()[i] >= 0 && codes.get()[i] < info.distinct);
}

}  // namespace

void declare_attribute(World& world) {
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  const int32_t fault = world.fault(4);
  const int32_t which = world.in(0, kAttributes - 1);
  const Declared& declared = kDeclared[which];
  const char* name = fault == 1 ? nullptr : fault == 2 ? "" : declared.name;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);  // it may be there already
  world.expected.may_fail(SIDBEAM_BAD_STATE);         // or something was added
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(builder_declare_attribute)(fault == 3 ? nullptr : builder.handle, name, fault == 4 ? 6 : declared.type,
                                          err);
  });
  if (status == SIDBEAM_OK) builder.attributes.push_back(which);
}

void set_attribute(World& world) {
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  const int32_t fault = world.fault(3);
  const bool known = !builder.attributes.empty() && !world.one_in(8);
  const int32_t which = known ? world.any(builder.attributes) : world.in(0, kAttributes - 1);
  const Column drawn = draw_column(world, which, builder.last_rows);
  sidbeam_attribute_column column = drawn.column;
  if (fault == 1) column.name = nullptr;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);  // it may be undeclared, or set already
  world.expected.may_fail(SIDBEAM_BAD_STATE);
  const In<sidbeam_attribute_column> argument(world, column);
  world.attempt([&](sidbeam_error* err) {
    return ABI(builder_set_attribute)(fault == 2 ? nullptr : builder.handle, argument.get(),
                                      fault == 3 ? builder.last_rows + 1 : builder.last_rows, err);
  });
}

void read_attribute(World& world) {
  if (world.indexes.empty()) return;
  const auto has_some = [](const Held<sidbeam_index>& one) { return one.facts->attribute_count > 0; };
  const auto found_first = std::find_if(world.indexes.begin(), world.indexes.end(), has_some);
  const bool by_chance = found_first == world.indexes.end() || world.one_in(4);
  const Held<sidbeam_index>& index = by_chance ? world.any(world.indexes) : *found_first;
  const int64_t count = index.facts->attribute_count;
  const int64_t attribute = count == 0 ? 0 : world.input.ConsumeIntegralInRange<int64_t>(0, count - 1);
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0 || count == 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_attribute_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_get_attribute)(fault == 1 ? nullptr : index.handle, fault == 2 ? count : attribute, out.get(),
                                    err);
  });
  if (status != SIDBEAM_OK) return;
  sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
  int64_t found = -1;
  FUZZ_CHECK(ABI(index_get_attribute)(index.handle, attribute, &info, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(info.nulls >= 0 && info.nulls <= index.facts->items);
  FUZZ_CHECK(ABI(index_find_attribute)(index.handle, info.name, &found, nullptr) == SIDBEAM_OK && found == attribute);
  read_strings(index, attribute, info);
  read_values(world, index, attribute, info);
}

}  // namespace fuzz::abi
