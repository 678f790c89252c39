// The step from hidden states on a CUDA device against the CPU's: enqueued call by call, and by one graph that was
// captured before anything was started. Numbers are small multiples of 1/4, so that sums are exact in any order and
// logits have the same bits; so have scores, where the log-sum-exp is given or not needed.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/hidden.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iostream>
#include <limits>
#include <optional>

#include "small_catalogue.h"

namespace gpu {
namespace {

using differential::call;
using differential::expect;
using differential::Place;
using differential::Snapshot;

using Layer = std::unique_ptr<sidbeam_output_layer, handles::Releaser<sidbeam_output_layer_destroy>>;
using Hidden = std::unique_ptr<sidbeam_hidden, handles::Releaser<sidbeam_hidden_destroy>>;

constexpr int64_t kColumns = 50;
constexpr int32_t kSlots = 3;
constexpr size_t kRows = kSlots * kBeams;

struct Case {
  uint64_t seed = 1;
  int64_t width = 8;
  int32_t dtype = SIDBEAM_DTYPE_F32, hidden_dtype = SIDBEAM_DTYPE_F32;  // the latter on the device
  int32_t normalization = SIDBEAM_NORMALIZE_NONE;
  bool lse = false, bias = false, mapped = false, variable = false;
  int32_t path = SIDBEAM_HIDDEN_FASTEST;       // of the objects
  int32_t step_path = SIDBEAM_HIDDEN_FASTEST;  // of the steps on the device
  int64_t children = 0;                        // room on the device
  float soft_cap = 0.0F;

  std::string text() const {
    return "seed " + std::to_string(seed) + ", width " + std::to_string(width) + ", dtypes " + std::to_string(dtype) +
           " and " + std::to_string(hidden_dtype) + ", normalization " + std::to_string(normalization) +
           (lse ? ", lse" : "") + (bias ? ", bias" : "") + (mapped ? ", mapped" : "") + (variable ? ", variable" : "") +
           ", path " + std::to_string(path) + "/" + std::to_string(step_path) + ", room " + std::to_string(children);
  }
  // In elements; on the device rows begin at multiples of 16 bytes.
  int64_t row_stride() const { return (width + 7) / 8 * 8; }
};

uint16_t half_bits(float value, int32_t dtype) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (dtype == SIDBEAM_DTYPE_BF16) return static_cast<uint16_t>(bits >> 16);
  if (value == 0.0F) return 0;
  const uint32_t exponent = (bits >> 23 & 0xFF) - 127 + 15;
  return static_cast<uint16_t>((bits >> 16 & 0x8000) | exponent << 10 | (bits >> 13 & 0x3FF));
}

// Elements of a type, exactly.
std::vector<uint8_t> elements(const std::vector<float>& values, int32_t dtype) {
  const size_t size = dtype == SIDBEAM_DTYPE_F32 ? 4 : 2;
  std::vector<uint8_t> out(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t narrow = half_bits(values[i], dtype);
    std::memcpy(out.data() + i * size, size == 4 ? static_cast<const void*>(&values[i]) : &narrow, size);
  }
  return out;
}

std::vector<float> quarters(uint64_t seed, size_t count) {
  std::mt19937_64 random(seed);
  std::vector<float> out(count);
  for (float& value : out) value = static_cast<float>(static_cast<int>(random() % 9) - 4) / 4.0F;
  return out;
}

// A layer, a session and its steps, wherever they are, and the arrays of a call, at fixed addresses.
class Side {
 public:
  Side(const Case& c, sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Place& place)
      : c_(c),
        place_(place),
        cpu_(place.device_type() == SIDBEAM_DEVICE_CPU),
        dtype_(cpu_ ? SIDBEAM_DTYPE_F32 : c.hidden_dtype),
        weights_(place, elements(quarters(c.seed, static_cast<size_t>(kColumns * c.row_stride())), c.dtype)),
        bias_(place, quarters(c.seed + 1, kColumns)),
        states_(place, elements(std::vector<float>(kRows * static_cast<size_t>(c.width)), dtype_)),
        map_(place, std::vector<int32_t>(kRows)),
        lse_(place, std::vector<float>(kRows)),
        temperatures_(place, std::vector<float>{0.5F, 0.0F, 2.0F}) {
    make_layer();
    make_session(runtime, constraint);
    sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
    config.session = session_.get(), config.layer = layer_.get(), config.path = c.path;
    if (!cpu_) config.children = c.children;
    sidbeam_hidden* made = nullptr;
    call("hidden", sidbeam_hidden_create, static_cast<const sidbeam_hidden_config*>(&config), &made);
    hidden_.reset(made);
  }

  void start(sidbeam_constraint* few) {
    sidbeam_constraint* constraints[kSlots] = {nullptr, few, nullptr};
    const int32_t widths[kSlots] = {0, 0, 3};
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.constraints = constraints, start.widths = widths, start.stream = place_.stream();
    call("start", sidbeam_session_start, session_.get(), static_cast<const sidbeam_start_args*>(&start));
  }

  // New hidden states in the rows of the beams that live; NaN elsewhere, where a product may read it.
  void fill(uint64_t round, const std::vector<int32_t>& live) {
    const auto width = static_cast<size_t>(c_.width);
    const std::vector<float> fresh = quarters(c_.seed * 1000 + round, kRows * width);
    std::vector<float> values(kRows * width, std::numeric_limits<float>::quiet_NaN());
    std::vector<int32_t> map(kRows, -1);
    std::vector<float> lse(kRows);
    for (size_t b = 0; b < kRows; ++b) {
      const size_t row = c_.mapped ? kRows - 1 - b : b;
      lse[row] = 40.0F + static_cast<float>(b % 5) / 4.0F;
      if (static_cast<int32_t>(b % kBeams) >= live[b / kBeams]) continue;
      map[b] = static_cast<int32_t>(row);
      std::copy_n(fresh.begin() + static_cast<std::ptrdiff_t>(b * width), width,
                  values.begin() + static_cast<std::ptrdiff_t>(row * width));
    }
    copy(states_.data(), elements(values, dtype_));
    copy(map_.data(), map);
    copy(lse_.data(), lse);
  }

  void step() {
    sidbeam_rows rows = sidbeam_rows_dense(states_.data(), dtype_, c_.mapped ? 0 : kSlots,
                                           c_.mapped ? static_cast<int64_t>(kRows) : kBeams, c_.width);
    rows.device_type = place_.device_type();
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows;
    if (!cpu_) args.path = c_.step_path;
    if (c_.mapped) args.row_map = map_.data();
    if (c_.lse) args.lse = lse_.data();
    if (c_.normalization == SIDBEAM_NORMALIZE_VALID) args.inverse_temperatures = temperatures_.data();
    args.stream = place_.stream();
    call("step", sidbeam_hidden_step, hidden_.get(), static_cast<const sidbeam_hidden_step_args*>(&args));
  }

  std::vector<Snapshot> look() const {
    const sidbeam_beams beams = differential::beams_of(place_, session_.get());
    std::vector<Snapshot> out;
    for (size_t slot = 0; slot < kSlots; ++slot) out.push_back(differential::snapshot(beams, slot));
    return out;
  }
  std::vector<int32_t> live() const {
    std::vector<int32_t> out;
    for (const Snapshot& slot : look()) out.push_back(slot.live);
    return out;
  }
  sidbeam_hidden_stats stats() const {
    sidbeam_hidden_stats stats = SIDBEAM_HIDDEN_STATS_INIT;
    call("stats", sidbeam_hidden_get_stats, static_cast<const sidbeam_hidden*>(hidden_.get()), &stats);
    return stats;
  }

 private:
  template <class T>
  void copy(void* to, const std::vector<T>& values) {
    if (cpu_) {
      std::memcpy(to, values.data(), values.size() * sizeof(T));
      return;
    }
    place_.wait();
    expect_cuda(cudaMemcpy(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice), "copy");
  }

  void make_layer() {
    sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
    config.dtype = c_.dtype, config.device_type = place_.device_type();
    config.weights = weights_.data(), config.columns = kColumns, config.width = c_.width;
    config.row_stride = c_.row_stride(), config.soft_cap = c_.soft_cap;
    if (c_.bias) config.bias = bias_.data();
    sidbeam_output_layer* made = nullptr;
    call("layer", sidbeam_output_layer_create, static_cast<const sidbeam_output_layer_config*>(&config), &made);
    layer_.reset(made);
  }

  void make_session(sidbeam_runtime* runtime, sidbeam_constraint* constraint) {
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = 3, vocabulary.offsets = kOffsets, vocabulary.end_column = kEnd;
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.slots = kSlots, config.beams = kBeams, config.normalization = c_.normalization;
    config.constraint = constraint, config.vocabulary = &vocabulary, config.device_type = place_.device_type();
    sidbeam_session* made = nullptr;
    call("session", sidbeam_session_create, runtime, static_cast<const sidbeam_session_config*>(&config), &made);
    session_.reset(made);
  }

  Case c_;
  const Place& place_;
  bool cpu_;
  int32_t dtype_;
  differential::Array<uint8_t> weights_;
  differential::Array<float> bias_;
  differential::Array<uint8_t> states_;
  differential::Array<int32_t> map_;
  differential::Array<float> lse_, temperatures_;
  Layer layer_;
  handles::Session session_;
  Hidden hidden_;  // before what it steps
};

// The same beams, except where neighbours are near each other, after which nothing more is compared.
bool near(const Snapshot& there, const Snapshot& here, const std::string& what) {
  expect(there.live == here.live && there.error == here.error && there.level == here.level, what, ": live ", there.live,
         ", expected ", here.live);
  for (size_t m = 0; m < static_cast<size_t>(here.live); ++m)
    expect(std::fabs(there.scores[m] - here.scores[m]) <= 2e-5F * std::max(1.0F, std::fabs(here.scores[m])), what,
           ": score ", m, " is ", there.scores[m], ", expected ", here.scores[m]);
  return there.codes == here.codes && there.parents == here.parents;
}

void compare(const Case& c, const std::vector<Snapshot>& there, const std::vector<Snapshot>& here,
             std::vector<bool>& astray, const std::string& what) {
  const bool exact = c.lse || c.normalization == SIDBEAM_NORMALIZE_NONE;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    if (exact) {
      expect_same(there[slot], here[slot], true, what);
    } else if (!astray[slot]) {
      astray[slot] = !near(there[slot], here[slot], what);
    }
  }
}

// Returns how many slots were compared with the CPU to their end.
int run_case(const Case& c) {
  const differential::Runtime runtime = differential::make_runtime(nullptr);
  const differential::Constraint many = make_constraint(runtime.get(), 300, c.seed, c.variable, true),
                                 few = make_constraint(runtime.get(), 4, c.seed + 1, c.variable, true);
  const Place here_place;
  const DevicePlace device(0);
  Side here(c, runtime.get(), many.get(), here_place), eager(c, runtime.get(), many.get(), device),
      graphed(c, runtime.get(), many.get(), device);
  std::vector<bool> astray(kSlots);
  std::optional<Graph> graph;
  for (int life = 0; life < 2; ++life) {
    // The first life of the graph's session begins after the capture; libraries have loaded their kernels by then.
    eager.start(few.get());
    if (!graph) {
      eager.fill(99, eager.live());
      eager.step();
      eager.start(few.get());
      graph.emplace(static_cast<cudaStream_t>(device.stream()), [&] { graphed.step(); });
    }
    graphed.start(few.get());
    here.start(few.get());
    astray.assign(kSlots, false);
    for (uint64_t level = 0; level < 3; ++level) {
      const uint64_t round = static_cast<uint64_t>(life) * 10 + level;
      for (Side* side : {&here, &eager, &graphed}) side->fill(round, side->live());
      here.step();
      eager.step();
      graph->launch();
      const std::string what = c.text() + ", life " + std::to_string(life) + ", level " + std::to_string(level);
      const std::vector<Snapshot> there = eager.look(), replayed = graphed.look();
      for (size_t slot = 0; slot < kSlots; ++slot) expect_same(replayed[slot], there[slot], true, what + ", graph");
      compare(c, there, here.look(), astray, what);
    }
  }
  const sidbeam_hidden_stats stats = eager.stats();
  expect(stats.steps == 7 && stats.child_slots + stats.product_slots == 7 * kSlots, c.text(), ": ", stats.steps,
         " steps of ", stats.child_slots, " and ", stats.product_slots, " slots");
  const bool children = c.lse || c.normalization >= SIDBEAM_NORMALIZE_VALID;
  const bool product = !children || (c.step_path != 0 ? c.step_path : c.path) == SIDBEAM_HIDDEN_PRODUCT;
  expect((stats.product_slots > 0) == product, c.text(), ": took the other path");
  return static_cast<int>(std::count(astray.begin(), astray.end(), false));
}

void cases() {
  constexpr int64_t kWidths[] = {8, 5, 20, 67, 300};
  constexpr int32_t kNormalizations[] = {SIDBEAM_NORMALIZE_NONE, SIDBEAM_NORMALIZE_VALID, SIDBEAM_NORMALIZE_FULL,
                                         SIDBEAM_NORMALIZE_LEVEL};
  int compared = 0, all = 0;
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint64_t n) { return static_cast<int32_t>(random() % n); };
    Case c;
    c.seed = seed * 100;
    c.width = kWidths[below(5)];
    c.dtype = below(3), c.hidden_dtype = below(3);
    c.normalization = kNormalizations[below(4)];
    c.lse = c.normalization != SIDBEAM_NORMALIZE_NONE && below(2) == 0;
    c.bias = below(2) == 0, c.mapped = below(2) == 0, c.variable = below(2) == 0;
    c.soft_cap = c.normalization == SIDBEAM_NORMALIZE_VALID && below(2) == 0 ? 8.0F : 0.0F;
    c.path = below(2) == 0 ? SIDBEAM_HIDDEN_FASTEST : SIDBEAM_HIDDEN_PRODUCT;
    const bool children = c.lse || c.normalization >= SIDBEAM_NORMALIZE_VALID;
    if (children && below(2) == 0) c.step_path = SIDBEAM_HIDDEN_CHILDREN;
    if (children && below(2) == 0) c.children = 1 + below(60);
    compared += run_case(c);
    all += kSlots;
  }
  expect(compared * 2 > all, "only ", compared, " of ", all, " slots were compared to their end");
  std::cout << "hidden: " << compared << " of " << all << " slots compared with the CPU to their end\n";
}

// What must be refused, with the session as it was.
void fails(sidbeam_status status, sidbeam_status expected, const sidbeam_error& err, const char* text) {
  expect(status == expected && std::strstr(err.message, text) != nullptr, "status ", status, " (", err.message,
         "), expected ", expected, " with '", text, "'");
}

struct Refusals {
  differential::Runtime runtime = differential::make_runtime(nullptr);
  differential::Constraint constraint = make_constraint(runtime.get(), 50, 1, false, true);
  DevicePlace device{0};
  std::vector<float> host = std::vector<float>(kColumns * 8);
  differential::Array<float> there{device, std::vector<float>(kColumns * 8)};
  sidbeam_error err = SIDBEAM_ERROR_INIT;

  handles::Session session(int32_t device_type, int32_t normalization = SIDBEAM_NORMALIZE_VALID) {
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.beams = 2, config.constraint = constraint.get(), config.device_type = device_type;
    config.normalization = normalization;
    sidbeam_session* made = nullptr;
    call("session", sidbeam_session_create, runtime.get(), static_cast<const sidbeam_session_config*>(&config), &made);
    return handles::Session(made);
  }
  sidbeam_output_layer_config layer_config() const {
    sidbeam_output_layer_config config = SIDBEAM_OUTPUT_LAYER_CONFIG_INIT;
    config.device_type = SIDBEAM_DEVICE_CUDA;
    config.weights = there.data(), config.columns = kColumns, config.width = 8;
    return config;
  }
  Layer layer(const sidbeam_output_layer_config& config) {
    sidbeam_output_layer* made = nullptr;
    call("layer", sidbeam_output_layer_create, &config, &made);
    return Layer(made);
  }
};

void layers_are_refused(Refusals& r) {
  sidbeam_output_layer* none = nullptr;
  const auto refused = [&](auto change, sidbeam_status status, const char* text) {
    sidbeam_output_layer_config config = r.layer_config();
    change(config);
    fails(sidbeam_output_layer_create(&config, &none, &r.err), status, r.err, text);
  };
  refused([&](auto& config) { config.weights = r.host.data(); }, SIDBEAM_INVALID_ARGUMENT,
          "config.weights is memory of the host");
  refused([&](auto& config) { config.bias = r.host.data(); }, SIDBEAM_INVALID_ARGUMENT,
          "config.bias is memory of the host");
  refused([&](auto& config) { config.width = 7; }, SIDBEAM_INVALID_ARGUMENT, "rows of 28 bytes, expected");
  refused([&](auto& config) { config.weights = r.there.data() + 1; }, SIDBEAM_INVALID_ARGUMENT, "multiple of 16 bytes");
  refused([&](auto& config) { config.device_id = 7; }, SIDBEAM_NO_DEVICE, "7");
}

void sessions_are_refused(Refusals& r) {
  const Layer there = r.layer(r.layer_config());
  sidbeam_output_layer_config config = r.layer_config();
  config.device_type = SIDBEAM_DEVICE_CPU, config.weights = r.host.data();
  const Layer here = r.layer(config);
  const handles::Session on_cpu = r.session(SIDBEAM_DEVICE_CPU), on_cuda = r.session(SIDBEAM_DEVICE_CUDA);
  sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
  sidbeam_hidden* none = nullptr;
  how.session = on_cuda.get(), how.layer = here.get();
  fails(sidbeam_hidden_create(&how, &none, &r.err), SIDBEAM_UNSUPPORTED, r.err,
        "config.session is on CUDA, expected one on the CPU, where the layer is");
  how.session = on_cpu.get(), how.layer = there.get();
  fails(sidbeam_hidden_create(&how, &none, &r.err), SIDBEAM_UNSUPPORTED, r.err,
        "config.session is elsewhere, expected one on CUDA device 0, where the layer is");
}

void steps_are_refused(Refusals& r) {
  const Layer layer = r.layer(r.layer_config());
  const handles::Session session = r.session(SIDBEAM_DEVICE_CUDA, SIDBEAM_NORMALIZE_FULL);
  sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
  how.session = session.get(), how.layer = layer.get();
  sidbeam_hidden* made = nullptr;
  call("hidden", sidbeam_hidden_create, static_cast<const sidbeam_hidden_config*>(&how), &made);
  const Hidden hidden(made);
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.stream = r.device.stream();
  call("start", sidbeam_session_start, session.get(), static_cast<const sidbeam_start_args*>(&start));
  const auto refused = [&](auto change, sidbeam_status status, const char* text) {
    sidbeam_rows rows = sidbeam_rows_dense(r.there.data(), SIDBEAM_DTYPE_F32, 1, 2, 8);
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows, args.stream = r.device.stream();
    change(args, rows);
    fails(sidbeam_hidden_step(made, &args, &r.err), status, r.err, text);
  };
  const int32_t map[] = {0, 1};
  refused([](auto&, auto& rows) { rows.columns = 4; }, SIDBEAM_INVALID_ARGUMENT, "hidden.columns is 4, expected 8");
  refused([](auto&, auto& rows) { rows.rows = 3; }, SIDBEAM_INVALID_ARGUMENT, "expected at most 2 in all on CUDA");
  refused([](auto&, auto& rows) { rows.slots = 2; }, SIDBEAM_INVALID_ARGUMENT, "hidden.slots is 2, expected 1");
  refused([](auto&, auto& rows) { rows.dtype = 3; }, SIDBEAM_INVALID_ARGUMENT, "hidden.dtype is 3");
  refused([](auto&, auto& rows) { rows.device_type = SIDBEAM_DEVICE_CPU; }, SIDBEAM_NO_DEVICE,
          "hidden.device_type is 0, expected CUDA (1)");
  refused([](auto&, auto& rows) { rows.device_id = 1; }, SIDBEAM_NO_DEVICE, "hidden.device_id is 1, expected 0");
  refused([&](auto&, auto& rows) { rows.data = r.host.data(); }, SIDBEAM_INVALID_ARGUMENT,
          "hidden.data is memory of the host");
  refused([&](auto& args, auto& rows) { args.row_map = map, rows.slots = 0; }, SIDBEAM_INVALID_ARGUMENT,
          "row_map is memory of the host");
  refused([](auto& args, auto&) { args.path = 3; }, SIDBEAM_INVALID_ARGUMENT, "args.path is 3");
  refused([](auto& args, auto&) { args.path = SIDBEAM_HIDDEN_CHILDREN; }, SIDBEAM_UNSUPPORTED,
          "a step reads more than children");
  const sidbeam_beams beams = differential::beams_of(r.device, session.get());
  expect(beams.level[0] == 0 && beams.live[0] == 1, "a refused step moved the session to level ", beams.level[0]);
}

// A beam without a row, and a layer that is too narrow for a level: the slot is in error, as after a step.
void what_the_host_cannot_see_puts_the_slot_in_error(Refusals& r) {
  for (const bool narrow : {false, true}) {
    sidbeam_output_layer_config config = r.layer_config();
    if (narrow) config.columns = 15;  // enough for the last level alone
    const Layer layer = r.layer(config);
    const handles::Session session = r.session(SIDBEAM_DEVICE_CUDA);
    sidbeam_hidden_config how = SIDBEAM_HIDDEN_CONFIG_INIT;
    how.session = session.get(), how.layer = layer.get();
    sidbeam_hidden* made = nullptr;
    call("hidden", sidbeam_hidden_create, static_cast<const sidbeam_hidden_config*>(&how), &made);
    const Hidden hidden(made);
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.stream = r.device.stream();
    call("start", sidbeam_session_start, session.get(), static_cast<const sidbeam_start_args*>(&start));
    sidbeam_rows rows = sidbeam_rows_dense(r.there.data(), SIDBEAM_DTYPE_F32, 0, 2, 8);
    rows.device_type = SIDBEAM_DEVICE_CUDA;
    const differential::Array<int32_t> map(r.device, narrow ? std::vector<int32_t>{0, 1} : std::vector<int32_t>{-1, 7});
    sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
    args.hidden = &rows, args.row_map = map.data(), args.stream = r.device.stream();
    call("step", sidbeam_hidden_step, made, static_cast<const sidbeam_hidden_step_args*>(&args));
    const sidbeam_beams beams = differential::beams_of(r.device, session.get());
    expect(beams.errors[0] == SIDBEAM_SLOT_BAD_MAP && beams.live[0] == 0, narrow ? "narrow" : "no row", ": error ",
           beams.errors[0], ", live ", beams.live[0]);
  }
}

int run_all() {
  cases();
  Refusals refusals;
  layers_are_refused(refusals);
  sessions_are_refused(refusals);
  steps_are_refused(refusals);
  what_the_host_cannot_see_puts_the_slot_in_error(refusals);
  std::cout << "hidden: passed\n";
  return 0;
}

}  // namespace
}  // namespace gpu

int main() try { return gpu::has_device() ? gpu::run_all() : 77; } catch (const std::exception& failure) {
  std::cerr << failure.what() << '\n';
  return 1;
}
