// Indexes: opened, described, uploaded, shared; and constraints.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "index_facts.h"
#include "lookups.h"
#include "operations.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostIndexes = 5, kMostConstraints = 6;

std::string draw_path(World& world, bool& there) {
  if (world.written.empty() && world.flip()) write_index(world);
  there = !world.written.empty() && !world.one_in(4);
  if (there) return world.any(world.written);
  static constexpr const char* kNames[] = {"/none", "/no\x1b]0;ne\x07\n", "/none/none", ""};
  return world.folder() + kNames[world.in(0, 3)];
}

sidbeam_open_config draw_open_config(World& world) {
  sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
  config.residency = world.in(0, 3);
  config.verify = world.in(0, 2);
  if (world.one_in(16)) config.residency = world.flip() ? -1 : 4;
  if (world.one_in(16)) config.verify = world.flip() ? -1 : 3;
  world.expected.fails_if(config.residency < 0 || config.residency > 3, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(config.verify < 0 || config.verify > 2, SIDBEAM_INVALID_ARGUMENT);
  return config;
}

void open(World& world) {
  if (world.runtimes.empty()) return;
  bool there = false;
  const std::string path = draw_path(world, there);
  const int32_t fault = world.fault(3);
  const sidbeam_open_config chosen = draw_open_config(world);
  const bool defaults = world.one_in(4);
  const In<sidbeam_open_config> config(world, chosen);
  if (defaults) world.expected = {};
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(!there, SIDBEAM_IO_ERROR);
  if (chosen.residency == SIDBEAM_RESIDENCY_LOCK) world.expected.may_fail(SIDBEAM_IO_ERROR);
  sidbeam_runtime* runtime = fault == 1 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_index*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_open)(runtime, fault == 2 ? nullptr : path.c_str(), defaults ? nullptr : config.get(),
                           fault == 3 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) keep_index(world, *out);
}

void peek(World& world) {
  bool there = false;
  const std::string path = draw_path(world, there);
  const int32_t fault = world.fault(3);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(!there, SIDBEAM_IO_ERROR);
  std::vector<int32_t> codes(SIDBEAM_MAX_LEVELS), max_children(SIDBEAM_MAX_LEVELS);
  std::vector<int64_t> nodes(SIDBEAM_MAX_LEVELS);
  OutStruct<sidbeam_index_info> out(world);
  world.attempt([&](sidbeam_error* err) {
    return ABI(index_peek)(fault == 1 ? nullptr : path.c_str(), fault == 3 ? 0 : SIDBEAM_MAX_LEVELS, codes.data(),
                           max_children.data(), nodes.data(), fault == 2 ? nullptr : out.get(), err);
  });
}

// The index lets go: its bytes may go at once.
void take_back(void* context) {
  auto& lent = *static_cast<Lent*>(context);
  ++lent.returns;
  lent.block.reset();
}

void open_memory(World& world) {
  if (world.runtimes.empty()) return;
  const std::vector<uint8_t>& file = specimens()[static_cast<size_t>(world.in(0, 127)) % specimens().size()];
  const int32_t fault = world.fault(7);
  const bool copy = world.one_in(3), gives_back = world.flip();
  sidbeam_open_config chosen = SIDBEAM_OPEN_CONFIG_INIT;
  chosen.residency = copy ? SIDBEAM_RESIDENCY_COPY : world.in(0, 1);
  chosen.verify = world.in(0, 2);
  if (fault == 1) chosen.residency = SIDBEAM_RESIDENCY_LOCK;
  const In<sidbeam_open_config> config(world, chosen);
  // Only copies are taken from any address.
  const size_t shift = fault == 2 || (copy && world.flip()) ? static_cast<size_t>(world.in(1, 63)) : 0;
  std::vector<uint8_t> shifted(shift);
  shifted.insert(shifted.end(), file.begin(), file.end());
  Lent& lent = world.lent.emplace_back();
  lent.block = block_of(shifted.data(), shifted.size());
  auto bytes = static_cast<int64_t>(file.size());
  if (fault == 3) bytes = world.in(0, static_cast<int32_t>(file.size()) - 1);
  if (fault == 4) bytes = -1;
  world.expected.fails_if(fault == 1 || fault >= 4, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(fault == 2 && !copy, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(fault == 3, SIDBEAM_CORRUPT);
  sidbeam_runtime* runtime = fault == 5 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_index*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(index_open_memory)(runtime, fault == 6 ? nullptr : lent.block.get() + shift, bytes,
                                  gives_back ? take_back : nullptr, &lent, config.get(),
                                  fault == 7 ? nullptr : out.get(), err);
  });
  lent.lent = status == SIDBEAM_OK && gives_back;
  if (copy || status != SIDBEAM_OK) {
    FUZZ_CHECK(lent.returns == (lent.lent ? 1 : 0));
    lent.block.reset();  // nobody may read it any more
  }
  if (status == SIDBEAM_OK) keep_index(world, *out);
}

void verify(World& world) {
  if (world.indexes.empty()) return;
  const int32_t fault = world.fault(2);
  const int32_t depth = fault == 1 ? (world.flip() ? -1 : 3) : world.in(0, 2);
  sidbeam_index* index = fault == 2 ? nullptr : world.any(world.indexes).handle;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.attempt([&](sidbeam_error* err) { return ABI(index_verify)(index, depth, err); });
}

void retain(World& world) {
  if (world.one_in(4)) ABI(index_retain)(nullptr);
  if (world.indexes.empty() || world.indexes.size() >= kMostIndexes) return;
  const Held<sidbeam_index> again = world.any(world.indexes);
  ABI(index_retain)(again.handle);
  world.indexes.push_back(again);
}

void release(World& world) {
  if (world.one_in(4)) ABI(index_release)(nullptr);
  if (world.indexes.empty()) return;
  Held<sidbeam_index>& released = world.any(world.indexes);
  ABI(index_release)(released.handle);
  std::swap(released, world.indexes.back());
  world.indexes.pop_back();
}

// There is no plugin, so that no device is there.
void upload(World& world) {
  if (world.indexes.empty()) return;
  const Held<sidbeam_index>& index = world.any(world.indexes);
  sidbeam_upload_config chosen = SIDBEAM_UPLOAD_CONFIG_INIT;
  chosen.device_id = world.in(-1, 3);
  chosen.kinds = world.in(0, 15);
  chosen.verify = world.in(0, 1);
  const int32_t fault = world.fault(5);
  if (fault == 1) chosen.kinds = 16;
  if (fault == 2) chosen.verify = 2;
  if (fault == 3) chosen.chunk_bytes = world.in(1, 4095);
  if (fault == 4) chosen.bytes_per_second = -1;
  const In<sidbeam_upload_config> config(world, chosen);
  world.expected.fails(SIDBEAM_NO_DEVICE);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.may_fail(SIDBEAM_MISSING_SECTION);
  world.attempt([&](sidbeam_error* err) {
    return ABI(index_upload)(fault == 5 ? nullptr : index.handle, world.one_in(4) ? nullptr : config.get(), err);
  });
}

void get_upload(World& world) {
  if (world.indexes.empty()) return;
  const int32_t fault = world.fault(2);
  sidbeam_index* index = fault == 1 ? nullptr : world.any(world.indexes).handle;
  const int32_t device = world.in(-1, 3);
  if (world.one_in(4)) ABI(index_unload)(index, device);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_upload_info> out(world);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(index_get_upload)(index, device, fault == 2 ? nullptr : out.get(), err); });
  if (status == SIDBEAM_OK) FUZZ_CHECK(out->kinds == 0 && out->bytes == 0);
}

void create_constraint(World& world) {
  if (world.indexes.empty() || world.constraints.size() >= kMostConstraints) return;
  const int32_t fault = world.fault(3);
  const Held<sidbeam_index>& index = world.any(world.indexes);
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = fault == 1 ? nullptr : index.handle;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_constraint_config> argument(world, config);
  Out<sidbeam_constraint*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_create)(fault == 2 ? nullptr : argument.get(), fault == 3 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) world.constraints.push_back({*out, index.facts});
}

void describe_constraint(World& world) {
  if (world.constraints.empty()) return;
  const Held<sidbeam_constraint>& constraint = world.any(world.constraints);
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_constraint_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(constraint_get_info)(fault == 1 ? nullptr : constraint.handle, fault == 2 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  const sidbeam_index_info& index = *constraint.facts;
  FUZZ_CHECK(out->levels == index.levels && out->variable_length == index.variable_length);
  FUZZ_CHECK(out->kinds == index.kinds && out->sids == index.sids && out->items == index.items);
  FUZZ_CHECK(std::equal(out->codes, out->codes + out->levels, index.codes));
  FUZZ_CHECK(std::strcmp(out->fingerprint, index.fingerprint) == 0);
}

void retain_constraint(World& world) {
  if (world.one_in(4)) ABI(constraint_retain)(nullptr);
  if (world.constraints.empty() || world.constraints.size() >= kMostConstraints) return;
  const Held<sidbeam_constraint> again = world.any(world.constraints);
  ABI(constraint_retain)(again.handle);
  world.constraints.push_back(again);
}

void release_constraint(World& world) {
  if (world.one_in(4)) ABI(constraint_release)(nullptr);
  if (world.constraints.empty()) return;
  Held<sidbeam_constraint>& released = world.any(world.constraints);
  ABI(constraint_release)(released.handle);
  std::swap(released, world.constraints.back());
  world.constraints.pop_back();
}

}  // namespace

Facts facts_of(sidbeam_index* index) {
  struct Kept {  // facts outlive their index
    sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
    std::vector<int32_t> codes, max_children;
    std::vector<int64_t> nodes;
  };
  const auto kept = std::make_shared<Kept>();
  sidbeam_index_info& info = kept->info;
  FUZZ_CHECK(ABI(index_get_info)(index, &info, nullptr) == SIDBEAM_OK);
  kept->codes.assign(info.codes, info.codes + info.levels);
  kept->max_children.assign(info.max_children, info.max_children + info.levels);
  kept->nodes.assign(info.nodes, info.nodes + info.levels);
  kept->codes.resize(SIDBEAM_MAX_LEVELS + 2);  // vocabularies of more levels are drawn, too: these have no codes
  info.codes = kept->codes.data(), info.max_children = kept->max_children.data(), info.nodes = kept->nodes.data();
  return {kept, &info};
}

void keep_index(World& world, sidbeam_index* index) {
  if (world.indexes.size() >= kMostIndexes) return ABI(index_release)(index);
  world.indexes.push_back({index, facts_of(index)});
}

void make_constraint(World& world) {
  make_index(world);
  for (int attempts = 0; attempts < 2 && world.constraints.empty(); ++attempts) create_constraint(world);
}

std::span<const Operation> index_operations() {
  static constexpr Operation kAll[] = {open,
                                       peek,
                                       open_memory,
                                       open_memory,
                                       verify,
                                       retain,
                                       release,
                                       upload,
                                       get_upload,
                                       create_constraint,
                                       create_constraint,
                                       retain_constraint,
                                       release_constraint,
                                       describe_constraint,
                                       describe,
                                       describe,
                                       read_attribute,
                                       look_up_sid,
                                       look_up_sid,
                                       look_up_prefix,
                                       look_up_prefix,
                                       look_up_item,
                                       look_up_item};
  return kAll;
}

}  // namespace fuzz::abi
