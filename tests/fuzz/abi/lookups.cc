// SPDX-License-Identifier: Apache-2.0
#include "lookups.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace fuzz::abi {
namespace {

// Of a live catalogue: something may have been added to its base, and then some questions have no answer.
bool is_version(const Held<sidbeam_index>& index) { return index.facts->version != 0; }

// A number below `count`, or, where `wrong`, one that is not.
int64_t draw_position(World& world, int64_t count, bool wrong) {
  world.expected.fails_if(wrong, SIDBEAM_INVALID_ARGUMENT);
  if (wrong) return world.flip() ? count : -1;
  return world.input.ConsumeIntegralInRange<int64_t>(0, count - 1);
}

std::vector<int32_t> draw_codes(World& world, const sidbeam_index_info& info, int32_t length) {
  std::vector<int32_t> codes;
  for (int32_t l = 0; l < length; ++l)
    codes.push_back(world.one_in(16) ? static_cast<int32_t>(world.strange()) : world.in(0, info.codes[l] - 1));
  return codes;
}

void read_text(const char* text) { FUZZ_CHECK(text != nullptr && std::string_view(text).size() < 1000); }

void describe_header(World& world, const Held<sidbeam_index>& index) {
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_index_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_get_info)(fault == 1 ? nullptr : index.handle, fault == 2 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->sids == index.facts->sids && out->levels == index.facts->levels);
  FUZZ_CHECK(out->verified >= index.facts->verified && out->verified <= SIDBEAM_VERIFY_FULL);
}

void describe_section(World& world, const Held<sidbeam_index>& index) {
  const int32_t fault = world.fault(3);
  const int64_t i = draw_position(world, index.facts->section_count, fault == 1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_section_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_get_section)(fault == 2 ? nullptr : index.handle, i, fault == 3 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  read_text(out->kind);
  read_text(out->encoding);
  FUZZ_CHECK(out->offset > 0 && out->bytes >= 0);
  // The sections of a version are those of its base, whose file is not its own.
  FUZZ_CHECK(is_version(index) || out->offset + out->bytes <= index.facts->file_bytes);
}

void describe_metadata(World& world, const Held<sidbeam_index>& index) {
  const int32_t fault = world.fault(4);
  const bool none = index.facts->metadata_count == 0;
  const int64_t i = draw_position(world, index.facts->metadata_count, fault == 1 || none);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<const char*> key(world, 1), value(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_get_metadata)(fault == 2 ? nullptr : index.handle, i, fault == 3 ? nullptr : key.get(),
                                   fault == 4 ? nullptr : value.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  read_text(*key);
  read_text(*value);
}

void find_sid(World& world, const Held<sidbeam_index>& index, const std::vector<int32_t>& codes, int64_t expected) {
  const Array<int32_t> sid(codes);
  Out<int64_t> ordinal(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_find_sid)(index.handle, sid.get(), static_cast<int32_t>(codes.size()), ordinal.get(), err);
  });
  FUZZ_CHECK(status != SIDBEAM_OK || *ordinal == expected);
}

void look_up_named(World& world, const Held<sidbeam_index>& index, int64_t row, std::string_view name) {
  const int32_t fault = world.fault(4);
  const int64_t from = fault == 1 ? -1 : world.flip() ? 0 : row;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const Array<char> bytes(std::vector<char>(name.begin(), name.end()));
  Out<int64_t> found(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_find_item)(fault == 3 ? nullptr : index.handle, -1, fault == 4 ? nullptr : bytes.get(),
                                fault == 2 ? -1 : static_cast<int64_t>(name.size()), from, found.get(), err);
  });
  FUZZ_CHECK(status != SIDBEAM_OK || (*found >= from && *found <= row));
}

void look_up_numbered(World& world, const Held<sidbeam_index>& index, int64_t row, int64_t id) {
  const int32_t fault = world.fault(3);
  const int64_t from = fault == 1 ? -1 : world.flip() ? 0 : row, bytes = world.strange();
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<int64_t> found(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_find_item)(index.handle, id, fault == 3 ? "name" : nullptr, bytes, from,
                                fault == 2 ? nullptr : found.get(), err);
  });
  FUZZ_CHECK(status != SIDBEAM_OK || (*found >= from && *found <= row));
}

// The file that an index writes is its bytes.
void read_bytes(World& world, const Held<sidbeam_index>& index) {
  const int32_t fault = world.fault(3);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(is_version(index), SIDBEAM_UNSUPPORTED);
  Out<const void*> data(world, 1);
  Out<int64_t> bytes(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_bytes)(fault == 1 ? nullptr : index.handle, fault == 2 ? nullptr : data.get(),
                            fault == 3 ? nullptr : bytes.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*bytes == index.facts->file_bytes && reinterpret_cast<uintptr_t>(*data) % 64 == 0);
  const std::string file(static_cast<const char*>(*data), static_cast<size_t>(*bytes));  // all of it is there to read
  FUZZ_CHECK(file.starts_with("SIDBEAM\n"));
}

void write_again(World& world, const Held<sidbeam_index>& index) {
  const int32_t fault = world.fault(3);
  world.expected.fails_if(fault == 1 || fault == 2, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(fault == 3, SIDBEAM_IO_ERROR);
  world.expected.fails_if(is_version(index), SIDBEAM_UNSUPPORTED);
  const std::string path = world.folder() + (fault == 3 ? "/none/again.sidx" : "/again.sidx");
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_write)(fault == 1 ? nullptr : index.handle, fault == 2 ? nullptr : path.c_str(), err);
  });
  if (status == SIDBEAM_OK && std::find(world.written.begin(), world.written.end(), path) == world.written.end())
    world.written.push_back(path);
}

// A list of ordinals, some of them none or repeated.
void list_items(World& world, const Held<sidbeam_index>& index, const sidbeam_index_info& info) {
  const int32_t fault = world.fault(5);
  std::vector<int64_t> ordinals(static_cast<size_t>(world.in(1, 6)));
  for (int64_t& ordinal : ordinals) ordinal = world.one_in(4) ? -1 : draw_position(world, info.sids, false);
  if (fault == 1) ordinals.back() = world.flip() ? -2 : info.sids;
  const auto count = static_cast<int64_t>(ordinals.size());
  const Array<int64_t> given(std::move(ordinals));
  const int64_t limit = world.in(1, 9), per_sid = fault == 2 ? -1 : world.in(0, 3);
  Out<int64_t> rows(world, static_cast<size_t>(limit)), offsets(world, static_cast<size_t>(count) + 1);
  Out<int32_t> truncated(world, 1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_items)(index.handle, fault == 3 ? nullptr : given.get(), count, per_sid, limit,
                            fault == 4 ? 2 : world.in(0, 1), rows.get(), fault == 5 ? nullptr : offsets.get(),
                            truncated.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(offsets.get()[0] == 0 && offsets.get()[count] <= limit);
  for (int64_t i = 0; i < count; ++i) FUZZ_CHECK(offsets.get()[i] <= offsets.get()[i + 1]);
  for (int64_t r = 0; r < offsets.get()[count]; ++r) FUZZ_CHECK(rows.get()[r] >= 0 && rows.get()[r] < info.items);
}

}  // namespace

void describe(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  describe_header(world, index);
  describe_section(world, index);
  describe_metadata(world, index);
  read_text(ABI(index_codebook)(index.handle));
  FUZZ_CHECK(ABI(index_codebook)(nullptr) == nullptr);
  read_bytes(world, index);
  if (world.one_in(4)) write_again(world, index);
}

void look_up_sid(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const sidbeam_index_info& info = *index.facts;
  const int32_t fault = world.fault(4);
  const int64_t ordinal = draw_position(world, info.sids, fault == 1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<int32_t> codes(world, static_cast<size_t>(info.levels)), length(world, 1);
  const std::vector<int32_t> before(codes.get(), codes.get() + info.levels);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_sid)(fault == 2 ? nullptr : index.handle, ordinal, fault == 3 ? nullptr : codes.get(),
                          fault == 4 ? nullptr : length.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*length >= info.shortest && *length <= info.longest);
  for (int32_t l = 0; l < info.levels; ++l) {
    const auto at = static_cast<size_t>(l);
    FUZZ_CHECK(l < *length ? codes[at] >= 0 && codes[at] < info.codes[l] : codes[at] == before[at]);
  }
  find_sid(world, index, std::vector<int32_t>(codes.get(), codes.get() + *length), ordinal);
}

void look_up_prefix(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const sidbeam_index_info& info = *index.facts;
  const int32_t fault = world.fault(5), length = world.in(0, info.levels - 1);
  const Array<int32_t> prefix(draw_codes(world, info, length));
  const int32_t claimed = fault == 1 ? -1 : fault == 2 ? info.levels + 1 : length;
  sidbeam_index* handle = fault == 3 ? nullptr : index.handle;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (is_version(index)) world.expected.may_fail(SIDBEAM_UNSUPPORTED);
  Out<int64_t> lo(world, 1), hi(world, 1);
  sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_ordinals)(handle, prefix.get(), claimed, fault == 4 ? nullptr : lo.get(),
                               fault == 5 ? nullptr : hi.get(), err);
  });
  if (status == SIDBEAM_OK) FUZZ_CHECK(*lo >= 0 && *lo <= *hi && *hi <= info.sids);

  const auto capacity = static_cast<size_t>(world.in(0, 20));
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<int32_t> codes(world, capacity), end(world, 1);
  Out<int64_t> count(world, 1);
  const int32_t filling = end[0];
  status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_children)(handle, prefix.get(), claimed, static_cast<int64_t>(capacity),
                               capacity == 0 ? nullptr : codes.get(), fault == 4 ? nullptr : count.get(),
                               fault == 5 ? nullptr : end.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*count >= 0 && *count <= info.codes[length] && (*end == 0 || *end == 1));
  FUZZ_CHECK(*count + *end <= info.max_children[length]);
  for (size_t i = 0; i < capacity; ++i) {
    const bool written = static_cast<int64_t>(i) < *count;
    FUZZ_CHECK(written ? codes[i] < info.codes[length] && codes[i] > (i == 0 ? -1 : codes[i - 1])
                       : codes[i] == filling);
  }
}

void look_up_item(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const sidbeam_index_info& info = *index.facts;
  if (world.one_in(3)) return list_items(world, index, info);
  const int32_t fault = world.fault(3);
  sidbeam_index* handle = fault == 1 ? nullptr : index.handle;
  const int64_t row = draw_position(world, info.items, fault == 2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<int64_t> ordinal(world, 1), lo(world, 1), hi(world, 1), id(world, 1), bytes(world, 1);
  Out<const char*> name(world, 1);
  sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_item_ordinal)(handle, row, fault == 3 ? nullptr : ordinal.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*ordinal >= 0 && *ordinal < info.sids);
  const int64_t of = world.one_in(8) ? draw_position(world, info.sids, true) : *ordinal;
  if (is_version(index)) world.expected.may_fail(SIDBEAM_UNSUPPORTED);
  status = world.attempt([&](sidbeam_error* err) { return ABI(index_item_rows)(handle, of, lo.get(), hi.get(), err); });
  if (status == SIDBEAM_OK) FUZZ_CHECK(*lo >= 0 && *lo <= row && row < *hi && *hi <= info.items);
  world.expected.may_fail(SIDBEAM_MISSING_SECTION);  // priorities that were not kept
  Out<int64_t> priority(world, 1);
  world.attempt([&](sidbeam_error* err) { return ABI(index_item_priority)(handle, row, priority.get(), err); });
  const bool whole = world.flip();
  status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_item_id)(handle, row, id.get(), whole ? name.get() : nullptr, whole ? bytes.get() : nullptr, err);
  });
  if (status != SIDBEAM_OK || !whole) return;
  if (info.id_type != SIDBEAM_ID_STRING) {
    FUZZ_CHECK(*name == nullptr && *bytes == 0);
    return look_up_numbered(world, index, row, *id);
  }
  FUZZ_CHECK(*id == -1 && *name != nullptr && *bytes >= 0);
  look_up_named(world, index, row, std::string_view(*name, static_cast<size_t>(*bytes)));
}

}  // namespace fuzz::abi
