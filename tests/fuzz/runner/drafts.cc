// Draft heads and their decoders. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include "../draft_specimens.h"
#include "caller.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostHeads = 3, kMostDecoders = 2;

void write(Caller& caller) {
  World& world = caller.world;
  const int32_t fault = world.fault(7);
  const DraftWeights made(std::vector<int32_t>(kLevels, kCodes), kHidden, world.in(0, kDraftKinds - 1));
  sidbeam_draft_weights weights = made.view();
  if (fault == 1) weights.levels = world.flip() ? 0 : SIDBEAM_MAX_LEVELS + 1;
  if (fault == 2) weights.hidden = world.flip() ? 0 : 65537;
  if (fault == 3) weights.input = world.flip() ? -1 : 3;
  if (fault == 4) weights.head_weights = nullptr;
  if (fault == 5) weights.codes = nullptr;
  world.expected.fails_if(fault != 0, fault == 7 ? SIDBEAM_IO_ERROR : SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_draft_weights> argument(world, weights);
  const std::string path = head_path() + (fault == 7 ? "/nowhere" : "");
  (void)world.attempt([&](sidbeam_error* err) {
    return ABI(draft_head_write)(fault == 6 ? nullptr : path.c_str(), argument.get(), err);
  });
}

void open(Caller& caller) {
  World& world = caller.world;
  if (caller.heads.size() >= kMostHeads) return;
  const int32_t fault = world.fault(3);
  const sidbeam_allocator allocator = world.allocator.table();
  sidbeam_draft_head_config config = SIDBEAM_DRAFT_HEAD_CONFIG_INIT;
  if (world.flip()) config.allocator = &allocator;
  world.expected.fails_if(fault != 0, fault == 3 ? SIDBEAM_IO_ERROR : SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_draft_head_config> argument(world, config);
  const std::string path = fault == 3 ? head_path() + "x" : head_path();
  write_draft_head(head_path(), std::vector<int32_t>(kLevels, kCodes), kHidden, world.in(0, kDraftKinds - 1));
  Out<sidbeam_draft_head*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(draft_head_open)(fault == 1 ? nullptr : path.c_str(), argument.get(), fault == 2 ? nullptr : out.get(),
                                err);
  });
  if (status == SIDBEAM_OK) caller.heads.push_back(*out);
}

void get_info(Caller& caller) {
  World& world = caller.world;
  if (caller.heads.empty()) return;
  const int32_t fault = world.fault(2);
  const sidbeam_draft_head* head = fault == 1 ? nullptr : world.any(caller.heads);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_draft_head_info> out(world);
  const sidbeam_status status = world.attempt(
      [&](sidbeam_error* err) { return ABI(draft_head_get_info)(head, fault == 2 ? nullptr : out.get(), err); });
  if (status == SIDBEAM_OK) FUZZ_CHECK(out->levels == kLevels && out->hidden == kHidden && out->codes[2] == kCodes);
}

void share(Caller& caller) {
  if (caller.heads.empty() || caller.heads.size() >= 2 * kMostHeads) return;
  ABI(draft_head_retain)(nullptr);
  ABI(draft_head_release)(nullptr);
  sidbeam_draft_head* const head = caller.world.any(caller.heads);
  ABI(draft_head_retain)(head);
  caller.heads.push_back(head);
}

void create(Caller& caller) {
  World& world = caller.world;
  if (caller.heads.empty() || world.runtimes.empty() || caller.decoders.size() >= kMostDecoders) return;
  const int32_t fault = world.fault(7);
  const sidbeam_allocator allocator = world.allocator.table();
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = world.in(0, 3);
  config.beams = fault == 1 ? (world.flip() ? 0 : SIDBEAM_MAX_BEAMS + 1) : world.in(1, 6);
  config.verification = fault == 2 ? (world.flip() ? -1 : 3) : world.in(0, 2);
  if (config.verification == SIDBEAM_DRAFT_VERIFY_HASH) config.top_k = world.in(0, 4);
  if (config.verification == SIDBEAM_DRAFT_VERIFY_TRIE && world.flip()) config.normalization = SIDBEAM_NORMALIZE_VALID;
  config.head = fault == 3 ? nullptr : world.any(caller.heads);
  config.index = fault == 4 ? nullptr : catalogue_index();
  if (fault == 5) config.threads = -1;
  config.allocator = &allocator;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  const In<sidbeam_draft_config> argument(world, config);
  sidbeam_runtime* runtime = fault == 6 ? nullptr : world.any(world.runtimes);
  Out<sidbeam_draft_decoder*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(draft_decoder_create)(runtime, argument.get(), fault == 7 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK)
    caller.decoders.push_back({*out, std::max(config.requests, 1), config.beams, config.verification});
}

void check(const Decoder& decoder, const sidbeam_draft_result& result) {
  FUZZ_CHECK(result.requests <= decoder.requests && result.beams == decoder.beams && result.levels == kLevels);
  for (int32_t i = 0; i < result.requests; ++i) {
    FUZZ_CHECK(result.live[i] >= 0 && result.live[i] <= result.beams);
    for (int32_t m = 0; m < result.live[i]; ++m) {
      const int32_t at = i * result.beams + m;
      FUZZ_CHECK(m == 0 || result.scores[at] <= result.scores[at - 1]);
      FUZZ_CHECK(result.ordinals[at] >= (decoder.verification == SIDBEAM_DRAFT_VERIFY_NONE ? -1 : 0));
      FUZZ_CHECK(result.ordinals[at] < kSids);
      for (int32_t l = 0; l < kLevels; ++l)
        FUZZ_CHECK(result.sids[at * kLevels + l] >= 0 && result.sids[at * kLevels + l] < kCodes);
    }
  }
}

// Hidden states of requests, some with an element that is no number, and widths.
struct Batch {
  Array<float> states;
  Array<int32_t> widths;
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;

  Batch(World& world, const Decoder& decoder, int32_t fault) {
    const int32_t requests = fault == 1 ? decoder.requests + 1 : world.in(1, decoder.requests);
    const int32_t width = fault == 2 ? kHidden + 1 : kHidden, count = requests * (kLevels + 1) * width;
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 7 + values.size()) % 11) / 4 - 1;
    if (world.one_in(4)) world.any(values) = world.flip() ? NAN : 3e38F;
    states = Array<float>(values);
    rows = sidbeam_rows_dense(states.get(), SIDBEAM_DTYPE_F32, requests, kLevels + 1, width);
    args.hidden = fault == 3 ? nullptr : &rows;
    if (fault == 4 || world.one_in(3))
      widths = Array<int32_t>(world.numbers(static_cast<size_t>(requests), fault == 4 ? decoder.beams + 1 : 0,
                                            fault == 4 ? decoder.beams + 2 : decoder.beams));
    args.widths = widths.get();
    world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  }
};

void run(Caller& caller) {
  World& world = caller.world;
  if (caller.decoders.empty()) return;
  const Decoder& decoder = world.any(caller.decoders);
  const int32_t fault = world.fault(5), way = world.in(0, 2);
  const bool starts = way == 2;
  const Batch batch(world, decoder, fault);
  // A start reads nothing of the states but their number, a decode no widths.
  if (fault == 2 && starts) world.expected.may_succeed();
  if (fault == 4 && way == 1) world.expected.may_succeed();
  const In<sidbeam_draft_args> argument(world, batch.args);
  sidbeam_draft_decoder* handle = fault == 5 ? nullptr : decoder.handle;
  if (starts)
    return static_cast<void>(
        world.attempt([&](sidbeam_error* err) { return ABI(draft_decoder_start)(handle, argument.get(), err); }));
  OutStruct<sidbeam_draft_result> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return way == 0 ? ABI(draft_decoder_run)(handle, argument.get(), out.get(), err)
                    : ABI(draft_decoder_decode)(handle, argument.get(), out.get(), err);
  });
  if (status == SIDBEAM_OK) check(decoder, *out);
}

}  // namespace

std::span<const RunnerOperation> draft_operations() {
  static constexpr RunnerOperation kAll[] = {write, open, open, get_info, share, create, create, run, run, run, run};
  return kAll;
}

}  // namespace fuzz::abi
