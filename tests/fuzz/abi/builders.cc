// Builders, from the first pair to an index in memory or in a file.
// SPDX-License-Identifier: Apache-2.0
#include "builders.h"

#include <algorithm>

#include "index_facts.h"
#include "operations.h"
#include "pairs.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostBuilders = 3, kMostWritten = 4;

}  // namespace

int32_t check_progress(void* context, int32_t phase, int64_t done, int64_t total) {
  auto& progress = *static_cast<Progress*>(context);
  FUZZ_CHECK(phase >= SIDBEAM_PHASE_SORT && phase <= SIDBEAM_PHASE_WRITE);
  FUZZ_CHECK(done >= 0 && done <= total);
  if (progress.calls_left < 0 || --progress.calls_left >= 0) return 0;
  progress.calls_left = 0;
  progress.cancelled = true;
  return 7;
}

void draw_builder_config(World& world, Builder& builder) {
  sidbeam_builder_config& config = builder.config;
  config.levels = world.one_in(16) ? world.in(1, SIDBEAM_MAX_LEVELS) : world.in(1, 4);
  for (int32_t l = 0; l < config.levels; ++l)
    builder.codes.push_back(world.flip() ? world.in(1, 8) : world.one_in(32) ? 70000 : world.in(1, 300));
  config.variable_length = world.one_in(3) ? 1 : 0;
  config.id_type = world.in(0, 2);
  config.kinds = world.in(0, 15);
  config.collisions = world.one_in(4) ? world.in(1, 2) : 0;
  config.threads = world.one_in(8) ? 2 : 0;
  if (world.one_in(16)) config.memory_limit_bytes = world.in(1, 100000);
  static constexpr const char* kCodebooks[] = {nullptr, "rq-vae of May", "", "two\nlines \x1b]0;title\x07 \xff"};
  config.codebook = kCodebooks[world.in(0, 3)];
  if (world.one_in(4)) config.hash_seed = world.strange();
  config.allow_attribute_loss = world.one_in(4) ? 1 : 0;
  config.keep_priorities = world.one_in(3) ? 1 : 0;
  if (!world.one_in(3)) return;
  builder.progress = std::make_unique<Progress>();
  if (world.one_in(3)) builder.progress->calls_left = world.in(0, 6);
  config.progress = check_progress;
  config.progress_context = builder.progress.get();
}

void spoil_builder_config(World& world, int32_t fault, sidbeam_builder_config& config, std::vector<int32_t>& codes) {
  if (fault != 0) world.expected.fails(SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) config.levels = world.flip() ? 0 : SIDBEAM_MAX_LEVELS + 1;
  if (fault == 2) codes[0] = world.flip() ? 0 : SIDBEAM_MAX_CODES + 1;
  if (fault == 3) config.variable_length = 2;
  if (fault == 4) config.id_type = world.flip() ? -1 : 3;
  if (fault == 5) config.kinds = world.flip() ? -1 : 16;
  if (fault == 6) config.collisions = world.flip() ? -1 : 3;
  if (fault == 7) config.threads = world.flip() ? -1 : 1025;
  if (fault == 8) config.memory_limit_bytes = -1;
}

void expect_sorted(World& world, Builder& builder) {
  world.expected.fails_if(builder.rows == 0, SIDBEAM_INVALID_ARGUMENT);
  if (!builder.attributes.empty())
    world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);  // values of merged pairs that differ
  if (builder.config.collisions == SIDBEAM_COLLISIONS_ERROR) world.expected.may_fail(SIDBEAM_COLLISION);
  if (builder.config.memory_limit_bytes != 0) world.expected.may_fail(SIDBEAM_OUT_OF_MEMORY);
  if (builder.progress != nullptr && builder.progress->calls_left >= 0) world.expected.may_fail(SIDBEAM_CANCELLED);
}

void note_sorted(Builder& builder, sidbeam_status status) {
  if (builder.progress != nullptr && builder.progress->cancelled) FUZZ_CHECK(status != SIDBEAM_OK);
  if (builder.progress != nullptr) builder.progress->cancelled = false;
  if (builder.rows == 0 || builder.closed == Builder::kClosed) return;
  builder.closed = status == SIDBEAM_OK ? Builder::kClosed : Builder::kUnknown;
}

namespace {

void create(World& world) {
  make_runtime(world);
  if (world.runtimes.empty() || world.builders.size() >= kMostBuilders) return;
  Builder builder;
  draw_builder_config(world, builder);
  const int32_t fault = world.fault(11);
  sidbeam_builder_config config = builder.config;
  std::vector<int32_t> given = builder.codes;
  spoil_builder_config(world, fault, config, given);
  const Array<int32_t> codes(given);
  config.codes = fault == 9 ? nullptr : codes.get();
  const In<sidbeam_builder_config> argument(world, config);
  sidbeam_runtime* runtime = fault == 10 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_builder*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(builder_create)(runtime, argument.get(), fault == 11 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  builder.handle = *out;
  world.builders.push_back(std::move(builder));
}

void add(World& world) {
  if (world.builders.empty()) create(world);
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  const int32_t fault = world.fault(6);
  const bool named = (builder.config.id_type == SIDBEAM_ID_STRING) != (fault == 3);
  const bool with_ids = builder.ids < 0 ? world.flip() : (builder.ids != 0) != (fault == 5);
  const Pairs pairs = draw_pairs(world, shape_of(builder), with_ids, fault);
  world.expected.fails_if(fault != 0 && !(fault == 5 && (builder.ids < 0 || named)), SIDBEAM_INVALID_ARGUMENT);
  if (builder.closed == Builder::kClosed) world.expected.fails(SIDBEAM_BAD_STATE);
  if (builder.closed == Builder::kUnknown) world.expected.may_fail(SIDBEAM_BAD_STATE);
  sidbeam_builder* handle = fault == 4 ? nullptr : builder.handle;
  const int64_t count = fault == 6 ? -1 : pairs.count;
  const Names names = draw_names(world, pairs.count);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return named ? ABI(builder_add_named)(handle, pairs.codes.get(), pairs.lengths.get(), count, names.bytes.get(),
                                          names.offsets.get(), pairs.priorities.get(), err)
                 : ABI(builder_add)(handle, pairs.codes.get(), pairs.lengths.get(), count, pairs.ids.get(),
                                    pairs.priorities.get(), err);
  });
  if (status != SIDBEAM_OK || count == 0) return;
  builder.rows += count;
  builder.last_rows = count;
  if (!named) builder.ids = pairs.ids.given() ? 1 : 0;
}

void set_metadata(World& world) {
  if (world.builders.empty()) return;
  const int32_t fault = world.fault(4);
  static constexpr const char* kTexts[] = {"key", "k\x1b[2Jey\n", "value of \xc3\xa9", "\xff\xfe"};
  const char* key = fault == 1 ? nullptr : fault == 2 ? "" : kTexts[world.in(0, 3)];
  const char* value = fault == 3 ? nullptr : kTexts[world.in(0, 3)];
  sidbeam_builder* builder = fault == 4 ? nullptr : world.any(world.builders).handle;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.attempt([&](sidbeam_error* err) { return ABI(builder_set_metadata)(builder, key, value, err); });
}

void write(World& world) {
  if (world.builders.empty() || world.written.size() >= kMostWritten) return;
  Builder& builder = world.any(world.builders);
  const int32_t fault = world.fault(6);
  static constexpr const char* kNames[] = {"/a.sidx", "/b.sidx", "/\x1b]0;c\x07\nd", "/\xff\xc2\x9b;31m\xe2\x80\xae"};
  std::string path = world.folder() + kNames[world.in(0, 3)];
  world.expected.fails_if(fault == 1 || fault == 2, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(fault >= 3, SIDBEAM_IO_ERROR);
  if (fault == 3) path = world.folder();  // a folder
  if (fault == 4) path = world.folder() + "/none/a.sidx";
  if (fault == 5) path = world.folder() + "/" + std::string(300, 'x');
  if (fault == 6) path = "";
  if (fault == 6) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  expect_sorted(world, builder);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(builder_write)(fault == 1 ? nullptr : builder.handle, fault == 2 ? nullptr : path.c_str(), err);
  });
  note_sorted(builder, status);
  if (status == SIDBEAM_OK && std::find(world.written.begin(), world.written.end(), path) == world.written.end())
    world.written.push_back(path);
}

void finish(World& world) {
  if (world.builders.empty()) return;
  Builder& builder = world.any(world.builders);
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  expect_sorted(world, builder);
  Out<sidbeam_index*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(builder_finish)(fault == 1 ? nullptr : builder.handle, fault == 2 ? nullptr : out.get(), err);
  });
  note_sorted(builder, status);
  if (status == SIDBEAM_OK) keep_index(world, *out);
}

void destroy(World& world) {
  if (world.one_in(4)) ABI(builder_destroy)(nullptr);
  if (world.builders.empty()) return;
  Builder& destroyed = world.any(world.builders);
  ABI(builder_destroy)(destroyed.handle);
  std::swap(destroyed, world.builders.back());
  world.builders.pop_back();
}

}  // namespace

void write_index(World& world) { write(world); }

void make_index(World& world) {
  for (int attempts = 0; attempts < 2 && world.indexes.empty(); ++attempts) {
    create(world);
    for (int32_t declared = world.in(0, 3); declared > 0; --declared) declare_attribute(world);
    add(world);
    set_attribute(world);
    add(world);
    if (world.flip()) set_metadata(world);
    finish(world);
  }
}

std::span<const Operation> builder_operations() {
  static constexpr Operation kAll[] = {create,  declare_attribute, set_attribute, add,          add,    set_metadata,
                                       plan,    estimate,          describe_plan, write,        finish, finish,
                                       destroy, destroy_plan,      add_arrow,     inspect_arrow};
  return kAll;
}

}  // namespace fuzz::abi
