// SPDX-License-Identifier: Apache-2.0
#include "attributes.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "index_facts.h"

namespace fuzz::abi {
namespace {

constexpr const char* kNames[] = {"price", "sc\xc3\xb8re", "stock", "brand", "tags"};  // by type, from 1

// The arrays of a caller's struct. All values are the same, so that pairs which merge agree.
struct Values {
  Values(World& world, int64_t count, bool with_codes) {
    const auto rows = static_cast<size_t>(count);
    std::vector<uint8_t> some(rows), bits((rows + 7) / 8);
    for (uint8_t& byte : some) byte = static_cast<uint8_t>(world.in(0, 1));
    for (uint8_t& byte : bits) byte = static_cast<uint8_t>(world.in(0, 255));
    std::vector<int64_t> starts(rows + 1), picked(2 * rows, 0);
    for (size_t i = 0; i <= rows; ++i) starts[i] = 2 * static_cast<int64_t>(i);
    std::vector<int64_t> twice(2 * rows + 1);
    for (size_t i = 0; i < twice.size(); ++i) twice[i] = static_cast<int64_t>(i);
    valid = Array<uint8_t>(std::move(some));
    valid_bits = Array<uint8_t>(std::move(bits));
    integers = Array<int64_t>(std::vector<int64_t>(rows, 7));
    numbers = Array<float>(std::vector<float>(rows, 0.5F));
    bools = Array<uint8_t>(std::vector<uint8_t>(rows, 1));
    text = Array<char>(std::vector<char>(2 * rows, 'x'));
    offsets = Array<int64_t>(std::move(twice));
    lists = Array<int64_t>(std::move(starts));
    if (with_codes) codes = Array<int64_t>(std::move(picked));
  }
  Array<uint8_t> valid, valid_bits, bools;
  Array<int64_t> integers, offsets, lists, codes;
  Array<float> numbers;
  Array<char> text;
};

void set_attribute(World& world, Builder& builder, int64_t count, int32_t type) {
  const int32_t fault = world.fault(6);
  const Values values(world, count, world.flip());
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  column.name = fault == 1 ? "none" : kNames[type - 1];
  const int32_t nulls = world.in(0, 2);
  if (nulls == 1 || fault == 2) column.valid = values.valid.get();
  if (nulls == 2 || fault == 2) column.valid_bits = values.valid_bits.get();
  column.integers = values.integers.get();
  column.numbers = values.numbers.get();
  column.bools = values.bools.get();
  column.text = values.text.get();
  column.offsets = values.offsets.get();
  if (type == SIDBEAM_ATTRIBUTE_STRING_LIST) column.lists = values.lists.get();
  column.codes = values.codes.get();
  column.string_count = 1;
  const In<sidbeam_attribute_column> argument(world, column);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.attempt([&](sidbeam_error* err) {
    return ABI(builder_set_attribute)(fault == 3 ? nullptr : builder.handle, fault == 4 ? nullptr : argument.get(),
                                      fault == 5   ? count + 1
                                      : fault == 6 ? -1
                                                   : count,
                                      err);
  });
}

void describe_attribute(World& world, const Held<sidbeam_index>& index, int64_t attribute) {
  const int32_t fault = world.fault(3);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_attribute_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_get_attribute)(fault == 1 ? nullptr : index.handle,
                                    fault == 2 ? index.facts->attribute_count : attribute,
                                    fault == 3 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->type >= SIDBEAM_ATTRIBUTE_I64 && out->type <= SIDBEAM_ATTRIBUTE_STRING_LIST);
  FUZZ_CHECK(out->nulls >= 0 && out->nulls <= index.facts->items);
  const int32_t none = world.fault(2);
  world.expected.fails_if(none != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<int64_t> found(world, 1);
  const sidbeam_status second = world.attempt([&](sidbeam_error* err) {
    return ABI(index_find_attribute)(none == 1 ? nullptr : index.handle, none == 2 ? nullptr : out->name, found.get(),
                                     err);
  });
  FUZZ_CHECK(second != SIDBEAM_OK || *found == attribute);
}

// Some rows of an attribute, by the call that is for its type.
void read_rows(World& world, const Held<sidbeam_index>& index, int64_t attribute, const sidbeam_attribute_info& info) {
  const int32_t fault = world.fault(3);
  const int64_t first = world.input.ConsumeIntegralInRange<int64_t>(0, index.facts->items);
  const int64_t count =
      world.input.ConsumeIntegralInRange<int64_t>(0, std::min<int64_t>(index.facts->items - first, 9));
  const int64_t at = fault == 1 ? -1 : first, asked = fault == 2 ? index.facts->items + 1 : count;
  const sidbeam_index* handle = fault == 3 ? nullptr : index.handle;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const auto size = static_cast<size_t>(count);
  Out<uint8_t> valid(world, size);
  if (info.type == SIDBEAM_ATTRIBUTE_F32) {
    Out<float> values(world, size);
    const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
      return ABI(index_attribute_numbers)(handle, attribute, at, asked, values.get(), valid.get(), err);
    });
    for (size_t i = 0; status == SIDBEAM_OK && i < size; ++i) FUZZ_CHECK(valid[i] <= 1 && !std::isnan(values[i]));
  } else if (info.type == SIDBEAM_ATTRIBUTE_STRING_LIST) {
    Out<int64_t> offsets(world, size + 1), codes(world, static_cast<size_t>(info.codes));
    const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
      return ABI(index_attribute_lists)(handle, attribute, at, asked, offsets.get(), info.codes, codes.get(),
                                        valid.get(), err);
    });
    for (size_t i = 0; status == SIDBEAM_OK && i < size; ++i) FUZZ_CHECK(offsets[i] <= offsets[i + 1]);
    FUZZ_CHECK(status != SIDBEAM_OK || offsets[size] <= info.codes);
  } else {
    Out<int64_t> values(world, size);
    const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
      return ABI(index_attribute_integers)(handle, attribute, at, asked, values.get(), valid.get(), err);
    });
    for (size_t i = 0; status == SIDBEAM_OK && i < size; ++i) FUZZ_CHECK(valid[i] == 1 || values[i] == 0);
  }
}

void read_string(World& world, const Held<sidbeam_index>& index, int64_t attribute,
                 const sidbeam_attribute_info& info) {
  const bool none = info.type < SIDBEAM_ATTRIBUTE_STRING || info.distinct == 0;
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0 || none, SIDBEAM_INVALID_ARGUMENT);
  const int64_t code = fault == 1 ? info.distinct : none ? 0 : world.in(0, static_cast<int32_t>(info.distinct) - 1);
  Out<const char*> text(world, 1);
  Out<int64_t> bytes(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_attribute_string)(fault == 2 ? nullptr : index.handle, attribute, code, text.get(), bytes.get(),
                                       err);
  });
  if (status != SIDBEAM_OK) return;
  const std::string read(*text, static_cast<size_t>(*bytes));  // all of it is there to read
  FUZZ_CHECK(read.size() < 1000);
}

}  // namespace

void declare_attribute(World& world) {
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  const int32_t fault = world.fault(4), type = world.in(1, 5);
  const bool known = (builder.attributes >> type & 1) != 0;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(builder.rows > 0 && !known, SIDBEAM_BAD_STATE);
  if (builder.closed == Builder::kClosed) world.expected.fails(SIDBEAM_BAD_STATE);
  if (builder.closed == Builder::kUnknown) world.expected.may_fail(SIDBEAM_BAD_STATE);
  static constexpr const char* kBad[] = {"", "a\nb", "\xff", "\xe2\x80\xae"};
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(builder_declare_attribute)(fault == 1 ? nullptr : builder.handle,
                                          fault == 2   ? nullptr
                                          : fault == 3 ? kBad[world.in(0, 3)]
                                                       : kNames[type - 1],
                                          fault == 4 ? 6 : type, err);
  });
  if (status == SIDBEAM_OK) builder.attributes |= 1 << type;
}

void set_attributes(World& world, Builder& builder, int64_t count) {
  for (int32_t type = SIDBEAM_ATTRIBUTE_I64; type <= SIDBEAM_ATTRIBUTE_STRING_LIST; ++type)
    if ((builder.attributes >> type & 1) != 0 && !world.one_in(3)) set_attribute(world, builder, count, type);
}

void read_attributes(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  for (int64_t i = 0; i < index.facts->attribute_count; ++i) {
    sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
    FUZZ_CHECK(sidbeam_index_get_attribute(index.handle, i, &info, nullptr) == SIDBEAM_OK);
    describe_attribute(world, index, i);
    read_rows(world, index, i, info);
    read_string(world, index, i, info);
  }
}

}  // namespace fuzz::abi
