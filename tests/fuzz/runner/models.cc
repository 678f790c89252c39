// Models and runners. SPDX-License-Identifier: Apache-2.0
#include "caller.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostModels = 3, kMostRunners = 2;

void open_model(Caller& caller) {
  World& world = caller.world;
  if (caller.models.size() >= kMostModels) return;
  const int32_t fault = world.fault(5);
  const sidbeam_allocator allocator = world.allocator.table();
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = fault == 1 ? (world.flip() ? -1 : 5) : world.in(0, 4);
  if (fault == 2) config.device_type = 77;
  if (world.flip()) config.allocator = &allocator;
  const std::string folder = model_folder(world.in(0, kModelFolders - 1)) + (fault == 3 ? "/nothing" : "");
  world.expected.fails_if(fault != 0, fault == 3 ? SIDBEAM_IO_ERROR : SIDBEAM_INVALID_ARGUMENT);
  if (fault == 2) world.expected.may_fail(SIDBEAM_NO_DEVICE);
  const In<sidbeam_model_config> argument(world, config, true);
  Out<sidbeam_model*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(model_open)(fault == 4 ? nullptr : folder.c_str(), argument.get(), fault == 5 ? nullptr : out.get(),
                           err);
  });
  if (status == SIDBEAM_OK) caller.models.push_back(*out);
}

void get_model_info(Caller& caller) {
  World& world = caller.world;
  if (caller.models.empty()) return;
  const int32_t fault = world.fault(2);
  const sidbeam_model* model = fault == 1 ? nullptr : world.any(caller.models);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_model_info> out(world);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(model_get_info)(model, fault == 2 ? nullptr : out.get(), err); });
  if (status == SIDBEAM_OK) FUZZ_CHECK(out->vocabulary == kTokens && out->parameters > 0 && out->memory_bytes > 0);
}

void share_model(Caller& caller) {
  if (caller.models.empty() || caller.models.size() >= 2 * kMostModels) return;
  ABI(model_retain)(nullptr);
  ABI(model_release)(nullptr);
  sidbeam_model* const model = caller.world.any(caller.models);
  ABI(model_retain)(model);
  caller.models.push_back(model);
}

int32_t run_at_once(void* /*context*/, void (*task)(void* data), void* data) {
  task(data);
  return 1;
}

void run_backwards(void* /*context*/, int32_t count, void (*task)(void* data, int32_t i), void* data) {
  while (count > 0) task(data, --count);
}

// What may not go with the rest.
void vary(Caller& caller, sidbeam_runner_config& config) {
  World& world = caller.world;
  static constexpr int32_t kPlaceholders[kLevels] = {9, 10, 11};
  for (const sidbeam_status status : {SIDBEAM_INVALID_ARGUMENT, SIDBEAM_UNSUPPORTED, SIDBEAM_MISSING_SECTION})
    world.expected.may_fail(status);
  if (world.one_in(3)) config.mode = world.in(0, 3);
  if (world.one_in(3)) config.strategy = world.in(-1, 5);
  if (world.one_in(3)) config.output_path = world.in(0, 3);
  if (world.one_in(3)) config.top_k = world.in(0, 3);
  if (world.one_in(3)) config.draft = world.any(caller.models);
  if (world.one_in(3)) config.draft_beams = world.in(0, 8);
  if (world.one_in(3)) config.speculate = world.in(0, 1);
  if (world.one_in(3)) config.without_replacement = world.in(0, 1);
  if (world.one_in(4)) config.max_prompt = world.in(0, 70);
  if (caller.heads.empty() || !world.one_in(3)) return;
  config.head = world.any(caller.heads);
  config.placeholders = kPlaceholders;
  config.placeholder_count = world.in(2, 3);
}

void spoil(World& world, int32_t fault, sidbeam_runner_config& config) {
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (fault == 1) config.model = nullptr;
  if (fault == 2) config.constraint = nullptr;
  if (fault == 3) config.beams = world.flip() ? 0 : SIDBEAM_MAX_BEAMS + 1;
  if (fault == 4) config.normalization = world.flip() ? -1 : 4;
  if (fault == 5) config.lanes = -1;
  if (fault == 6) config.wait_us = -1;
}

sidbeam_runner_config draw_config(World& world) {
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.constraint = catalogue_constraint();
  config.beams = world.in(1, 5);
  config.max_prompt = world.in(1, 8);
  config.normalization = world.in(SIDBEAM_NORMALIZE_FULL, SIDBEAM_NORMALIZE_VALID);
  config.lanes = world.in(0, 2);
  config.queue_requests = world.in(0, 3);
  config.batch_requests = world.in(0, 3);
  if (world.one_in(3)) config.post = run_at_once;
  if (world.one_in(3)) config.request_threads = 3;
  if (world.one_in(3)) config.execute = run_backwards;
  if (config.request_threads > 1) config.execute = run_backwards;
  return config;
}

void create(Caller& caller) {
  World& world = caller.world;
  if (caller.models.empty() || world.runtimes.empty() || caller.runners.size() >= kMostRunners) return;
  static constexpr int64_t kOffsets[kLevels] = {0, 4, 8};
  const int32_t fault = world.fault(8);
  const sidbeam_allocator allocator = world.allocator.table();
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = kLevels;
  vocabulary.offsets = kOffsets;
  auto runner = std::make_unique<Runner>();
  sidbeam_runner_config& config = runner->config = draw_config(world);
  config.model = world.any(caller.models);
  config.vocabulary = &vocabulary;
  config.allocator = &allocator;
  if (world.flip()) vary(caller, config);
  spoil(world, fault, config);
  const In<sidbeam_runner_config> argument(world, config);
  sidbeam_runtime* runtime = fault == 7 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_runner*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(runner_create)(runtime, argument.get(), fault == 8 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  runner->handle = *out;
  caller.runners.push_back(std::move(runner));
}

void drop(Caller& caller) {
  if (caller.world.one_in(4)) ABI(runner_destroy)(nullptr);
  if (caller.world.one_in(4)) (void)caller.drop_any();
}

void ask_version(Caller& /*caller*/) { FUZZ_CHECK(ABI(runner_abi_version)() == SIDBEAM_RUNNER_ABI_VERSION); }

}  // namespace

std::span<const RunnerOperation> model_operations() {
  static constexpr RunnerOperation kAll[] = {open_model, get_model_info, share_model, create,
                                             create,     drop,           ask_version};
  return kAll;
}

}  // namespace fuzz::abi
