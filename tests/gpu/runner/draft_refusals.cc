// Draft heads on a CUDA device: what is refused, with what is wrong, and that it harms nothing; requests in error; and,
// on the emulator, failing allocations and launches, and whose memory it is. SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>

#include "draft_case.h"
#include "program.h"

namespace gpu {
namespace {

using differential::expect;

void fails(sidbeam_status status, sidbeam_status expected, const sidbeam_error& err, const char* text) {
  expect(status == expected && std::strstr(err.message, text) != nullptr, "status ", status, " (", err.message,
         "), expected ", expected, " with '", text, "'");
}

// Three requests of an RNN.
struct World {
  DraftCase c;
  std::mt19937_64 random{5};
  oracle::DraftModel model = heads::random_head(c.shape, random);
  std::set<std::vector<int>> sids = heads::random_sids(model.codes, 60, random);
  handles::Runtime runtime = differential::make_runtime(nullptr);
  handles::Index index = heads::make_index(runtime.get(), model.codes, sids);
  DevicePlace device{0};
  heads::DraftHead head = heads::DraftFile(model, SIDBEAM_DTYPE_F16, "books").head();
  sidbeam_error err = SIDBEAM_ERROR_INIT;

  std::unique_ptr<DraftSide> side(const differential::Place& place) {
    auto made = std::make_unique<DraftSide>(c, runtime.get(), head.get(), index.get(), place);
    made->fill(random_states(c, 1));
    return made;
  }
};

void decoders_are_refused(World& w) {
  const handles::Index other = heads::make_index(w.runtime.get(), w.model.codes, w.sids, SIDBEAM_KIND_TRIE, "others"),
                       wider = heads::make_index(w.runtime.get(), {7, 6, 9}, {{0, 5, 0}});
  const auto refused = [&](auto change, sidbeam_status status, const char* text) {
    sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
    config.head = w.head.get(), config.index = w.index.get(), config.device_type = SIDBEAM_DEVICE_CUDA;
    change(config);
    sidbeam_draft_decoder* none = nullptr;
    fails(sidbeam_draft_decoder_create(w.runtime.get(), &config, &none, &w.err), status, w.err, text);
    expect(none == nullptr, text, ": made a decoder all the same");
  };
  refused([](auto& config) { config.device_id = 7; }, SIDBEAM_NO_DEVICE, "device_id is 7");
  refused([](auto& config) { config.device_id = -1; }, SIDBEAM_INVALID_ARGUMENT, "config.device_id is -1");
  refused([&](auto& config) { config.index = other.get(); }, SIDBEAM_INVALID_ARGUMENT,
          "config.index is of codebook 'others', expected 'books', that of the draft head");
  refused([&](auto& config) { config.index = wider.get(); }, SIDBEAM_INVALID_ARGUMENT,
          "config.index has 6 codes at level 1, expected 5");
}

void runs_are_refused(World& w) {
  const std::unique_ptr<DraftSide> side = w.side(w.device);
  side->run({});
  const Drafted before = side->look();
  const handles::Index here = heads::make_index(w.runtime.get(), w.model.codes, w.sids);
  const handles::Index others = heads::make_index(w.runtime.get(), w.model.codes, w.sids, SIDBEAM_KIND_TRIE, "others");
  const handles::Constraint not_there = differential::constrain(here.get()),
                            of_others = differential::constrain(others.get());
  std::vector<float> host(1000);
  const auto refused = [&](auto change, sidbeam_status status, const char* text) {
    sidbeam_rows rows = side->rows();
    sidbeam_draft_args args = side->args({});
    args.hidden = &rows;
    change(args, rows);
    sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
    fails(sidbeam_draft_decoder_run(side->decoder(), &args, &result, &w.err), status, w.err, text);
  };
  refused([](auto&, auto& rows) { rows.columns = 5; }, SIDBEAM_INVALID_ARGUMENT, "hidden.columns is 5, expected 12");
  refused([](auto&, auto& rows) { rows.rows = 3; }, SIDBEAM_INVALID_ARGUMENT, "hidden.rows is 3, expected 4");
  refused([](auto&, auto& rows) { rows.slots = 5; }, SIDBEAM_INVALID_ARGUMENT, "hidden.slots is 5, expected 1..4");
  refused([](auto&, auto& rows) { rows.dtype = 3; }, SIDBEAM_INVALID_ARGUMENT, "hidden.dtype is 3");
  refused([](auto&, auto& rows) { rows.device_type = SIDBEAM_DEVICE_CPU; }, SIDBEAM_NO_DEVICE,
          "hidden.device_type is 0 and device_id 0, expected CUDA (1 and 0), as the decoder");
  refused([](auto&, auto& rows) { rows.device_id = 1; }, SIDBEAM_NO_DEVICE, "device_id 1, expected CUDA (1 and 0)");
  refused([&](auto&, auto& rows) { rows.data = host.data(); }, SIDBEAM_INVALID_ARGUMENT,
          "hidden.data is memory of the host");
  const int32_t widths[] = {1, 7, 1};
  refused([&](auto& args, auto&) { args.widths = widths; }, SIDBEAM_INVALID_ARGUMENT, "widths[1] is 7");
  sidbeam_constraint* constraints[] = {nullptr, nullptr, not_there.get()};
  refused([&](auto& args, auto&) { args.constraints = constraints; }, SIDBEAM_BAD_STATE, "sidbeam_index_upload");
  constraints[2] = of_others.get();
  refused([&](auto& args, auto&) { args.constraints = constraints; }, SIDBEAM_INVALID_ARGUMENT,
          "constraints[2] is of codebook 'others', expected 'books', that of the draft head");
  const Graph graph(static_cast<cudaStream_t>(w.device.stream()), [&] {
    refused([](auto&, auto&) {}, SIDBEAM_BAD_STATE, "captured");
    side->decode();  // the capture goes on
  });
  side->run({});
  side->look().expect_same_bits(before, "after what was refused");
}

void a_request_with_nan_is_in_error_and_others_are_not(World& w) {
  const std::unique_ptr<DraftSide> side = w.side(w.device);
  side->run({});
  const Drafted whole = side->look();
  const auto beams = static_cast<size_t>(w.c.beams);
  for (const size_t row : {0U, 1U, 3U}) {  // h_0, h_1, h_L of request 1
    States states = random_states(w.c, 1);
    states[1][row][5] = std::numeric_limits<double>::quiet_NaN();
    side->fill(states);
    side->run({});
    const Drafted found = side->look();
    expect(found.errors == std::vector<int32_t>{0, SIDBEAM_SLOT_BAD_ROW, 0} && found.live[1] == 0, "NaN in h_", row,
           ": error ", found.errors[1], ", live ", found.live[1]);
    for (size_t beam = 0; beam < 3 * beams; ++beam) {
      if (beam / beams != 1) {
        expect(found.scores[beam] == whole.scores[beam] && found.ordinals[beam] == whole.ordinals[beam], "NaN in h_",
               row, ": beam ", beam, " of another request changed");
      } else {
        expect(found.scores[beam] == -std::numeric_limits<float>::infinity() && found.ordinals[beam] == -1, "NaN in h_",
               row, ": beam ", beam, " is there");
      }
    }
  }
}

void the_halves_find_what_a_run_finds(World& w) {
  const std::unique_ptr<DraftSide> side = w.side(w.device);
  side->decode();
  expect(side->look().live == std::vector<int32_t>(3, 0), "something was found that was not started");
  side->run({});
  const Drafted expected = side->look();
  side->decode();
  expect(side->look().live == std::vector<int32_t>(3, 0), "something was found after a run");
  side->start({});
  for (int i = 0; i < 2; ++i) {
    side->decode();
    side->look().expect_same_bits(expected, "decoded again");
  }
  sidbeam_rows two = side->rows();
  two.slots = 2, two.data = nullptr;
  sidbeam_draft_args args = side->args({});
  args.hidden = &two;
  differential::call("start", sidbeam_draft_decoder_start, side->decoder(),
                     static_cast<const sidbeam_draft_args*>(&args));
  side->decode();
  const std::vector<int32_t> live = side->look().live;
  expect(live == std::vector<int32_t>{expected.live[0], expected.live[1], 0}, "live of the third request is ", live[2]);
}

#ifdef SIDBEAM_EMULATED
// Of device and pinned memory, once all work is done, which frees some.
struct Taken {
  int64_t allocations, bytes;
};
Taken taken() {
  expect_cuda(cudaDeviceSynchronize(), "wait");
  return {emulator_live_allocations(), emulator_live_bytes()};
}

// Makes a decoder and runs it once, with the head's weights there or not.
sidbeam_status use(World& w, const DraftSide& like, sidbeam_draft_head* head) {
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.head = head, config.index = w.index.get(), config.device_type = SIDBEAM_DEVICE_CUDA, config.requests = 3;
  sidbeam_draft_decoder* made = nullptr;
  const sidbeam_status status = sidbeam_draft_decoder_create(w.runtime.get(), &config, &made, &w.err);
  if (status != SIDBEAM_OK) return status;
  const heads::DraftDecoder decoder(made);
  const sidbeam_draft_args args = like.args({});
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  const sidbeam_status ran = sidbeam_draft_decoder_run(made, &args, &result, &w.err);
  w.device.wait();
  return ran;
}

void an_allocation_that_fails_is_out_of_memory_and_leaks_nothing(World& w) {
  const std::unique_ptr<DraftSide> like = w.side(w.device);
  like->run({});
  const int64_t before = taken().allocations;
  int64_t n = 1;
  for (;; ++n) {
    const heads::DraftHead head = heads::DraftFile(w.model, SIDBEAM_DTYPE_BF16).head();
    emulator_fail_allocation(n);
    const sidbeam_status status = use(w, *like, head.get());
    emulator_fail_allocation(0);
    if (status == SIDBEAM_OK) break;
    expect(status == SIDBEAM_OUT_OF_MEMORY, "allocation ", n, ": status ", status, ": ", w.err.message);
  }
  // Weights alone are seventeen: of three levels, with a transition from two.
  expect(n > 17, "only ", n - 1, " allocations failed");
  expect(taken().allocations == before, taken().allocations - before, " allocations are left");
}

void a_launch_that_fails_is_a_device_error_and_harms_nothing(World& w) {
  const std::unique_ptr<DraftSide> side = w.side(w.device);
  side->run({});
  const Drafted before = side->look();
  int64_t n = 1;
  for (;; ++n) {
    const sidbeam_draft_args args = side->args({});
    sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
    emulator_fail_launch(n);
    const sidbeam_status status = sidbeam_draft_decoder_run(side->decoder(), &args, &result, &w.err);
    emulator_fail_launch(0);
    if (status == SIDBEAM_OK) break;
    expect(status == SIDBEAM_DEVICE_ERROR, "launch ", n, ": status ", status, ": ", w.err.message);
    side->run({});
    side->look().expect_same_bits(before, "after a launch that failed");
  }
  expect(n > 20, "only ", n - 1, " launches failed");
}

void runs_after_the_first_allocate_nothing(World& w) {
  const std::unique_ptr<DraftSide> side = w.side(w.device);
  side->run({});
  w.device.wait();
  emulator_fail_allocation(1);
  side->run({});
  w.device.wait();
  void* memory = nullptr;
  expect(cudaMalloc(&memory, 1) == cudaErrorMemoryAllocation, "the second run allocated");
  emulator_fail_allocation(0);
}

// The weights of a head are on a device once, and as long as it lives.
void weights_are_uploaded_once(World& w) {
  const Taken none = taken();
  heads::DraftHead head = heads::DraftFile(w.model, SIDBEAM_DTYPE_F32).head();
  expect(taken().bytes == none.bytes, "a head takes memory of the device before it has a decoder there");
  std::unique_ptr<DraftSide> sides[3];
  int64_t bytes[4] = {none.bytes};
  for (int i = 0; i < 3; ++i) {
    sides[i] = std::make_unique<DraftSide>(w.c, w.runtime.get(), head.get(), w.index.get(), w.device);
    bytes[i + 1] = taken().bytes;
  }
  const int64_t first = bytes[1] - bytes[0], second = bytes[2] - bytes[1], third = bytes[3] - bytes[2];
  expect(second == third, "two decoders of the same head took ", second, " and ", third, " bytes");
  const int64_t weights = 4 * (21 * 24 + 12 * 12 + 12 * 12);  // of the levels' heads, and of the recurrent products
  expect(first >= second + weights, "the first decoder took ", first, " bytes, and the second ", second);
  head.reset();
  for (std::unique_ptr<DraftSide>& side : sides) {
    side->fill(random_states(w.c, 1));
    side->run({});
    expect(side->look().live[0] > 0, "a decoder has lost its head");
    w.device.wait();
    side.reset();
  }
  expect(taken().allocations == none.allocations, taken().allocations - none.allocations, " allocations are left");
}

void devices_have_weights_of_their_own(World& w) {
  int devices = 0;
  expect_cuda(cudaGetDeviceCount(&devices), "count devices");
  expect(devices == 2, devices, " devices, expected 2");
  const std::unique_ptr<DraftSide> first = w.side(w.device);
  expect_cuda(cudaSetDevice(1), "choose device 1");
  {
    const DevicePlace other(1);
    const std::unique_ptr<DraftSide> second = w.side(other);
    first->run({});
    second->run({});
    second->look().expect_same_bits(first->look(), "on device 1");
    other.wait();
  }
  expect_cuda(cudaSetDevice(0), "choose device 0");
}
#endif

int run_all() {
  World w;
  decoders_are_refused(w);
  runs_are_refused(w);
  a_request_with_nan_is_in_error_and_others_are_not(w);
  the_halves_find_what_a_run_finds(w);
#ifdef SIDBEAM_EMULATED
  an_allocation_that_fails_is_out_of_memory_and_leaks_nothing(w);
  a_launch_that_fails_is_a_device_error_and_harms_nothing(w);
  runs_after_the_first_allocate_nothing(w);
  weights_are_uploaded_once(w);
  devices_have_weights_of_their_own(w);
#endif
  std::cout << "draft refusals: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() { return gpu::run_program(gpu::run_all); }
