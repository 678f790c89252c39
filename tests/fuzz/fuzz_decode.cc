// A catalogue, a session and its calls, all drawn from the input: what a step promises must hold whatever the logits'
// bits; on an index whose sections are damaged nothing must hold but that no read leaves it.
// SPDX-License-Identifier: Apache-2.0
#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "specimens.h"

namespace {

using fuzz::Handle;

struct Subject {
  Handle<sidbeam_index> index;
  fuzz::Block bytes;  // of a damaged one
  bool trusted = true;
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;

  ~Subject() { index.reset(); }  // before its bytes
};

fuzz::Catalogue draw_catalogue(FuzzedDataProvider& input) {
  fuzz::Catalogue catalogue;
  const int levels = input.ConsumeIntegralInRange(1, 4);
  for (int l = 0; l < levels; ++l)
    catalogue.codes.push_back(input.ConsumeBool() ? input.ConsumeIntegralInRange(1, 8)
                                                  : input.ConsumeIntegralInRange(1, 300));
  catalogue.variable_length = input.ConsumeBool();
  catalogue.kinds = input.ConsumeIntegralInRange(1, 15);
  const int count = input.ConsumeIntegralInRange(1, 120);
  for (int i = 0; i < count; ++i) {
    for (int l = 0; l < levels; ++l)
      catalogue.sids.push_back(input.ConsumeIntegralInRange(0, catalogue.codes[static_cast<size_t>(l)] - 1));
    catalogue.lengths.push_back(catalogue.variable_length ? input.ConsumeIntegralInRange(1, levels) : levels);
  }
  return catalogue;
}

// One of the ready-made files with bytes of its sections replaced, opened without looking at them.
void draw_damaged(FuzzedDataProvider& input, Subject& subject) {
  const auto& files = fuzz::specimens();
  std::vector<uint8_t> file = files[input.ConsumeIntegralInRange<size_t>(0, files.size() - 1)];
  uint64_t header = 0;
  std::memcpy(&header, file.data() + 16, sizeof header);
  for (int changes = input.ConsumeIntegralInRange(1, 24); changes > 0; --changes) {
    const size_t at = input.ConsumeIntegralInRange<size_t>(32 + header, file.size() - 1);
    file[at] = input.ConsumeIntegral<uint8_t>();
  }
  subject.trusted = false;
  subject.bytes = fuzz::block_of(file.data(), file.size());
  sidbeam_index* made = nullptr;
  // Non-zero padding may be refused here.
  if (sidbeam_index_open_memory(fuzz::runtime(), subject.bytes.get(), static_cast<int64_t>(file.size()), nullptr,
                                nullptr, nullptr, &made, nullptr) == SIDBEAM_OK)
    subject.index.reset(made);
}

struct Plan {
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  std::vector<int64_t> offsets;
  int64_t columns = 0;
};

void draw_plan(FuzzedDataProvider& input, const Subject& subject, sidbeam_constraint* constraint, Plan& plan) {
  const sidbeam_index_info& info = subject.info;
  for (int l = 0; l < info.levels; ++l) {
    plan.offsets.push_back(input.ConsumeIntegralInRange(0, 40));
    plan.columns = std::max(plan.columns, plan.offsets.back() + info.codes[l]);
  }
  plan.vocabulary.levels = info.levels;
  plan.vocabulary.offsets = plan.offsets.data();
  plan.vocabulary.end_column = plan.columns;
  plan.columns += input.ConsumeIntegralInRange(1, 30);
  plan.config.slots = input.ConsumeIntegralInRange(1, 3);
  plan.config.beams = input.ConsumeBool() ? input.ConsumeIntegralInRange(1, 6) : input.ConsumeIntegralInRange(1, 200);
  plan.config.strategy = input.ConsumeIntegralInRange(0, 4);
  plan.config.normalization = input.ConsumeIntegralInRange(0, 3);
  plan.config.top_k = input.ConsumeIntegralInRange(0, 8);
  plan.config.log_probs_promised = input.ConsumeBool();
  plan.config.constraint = constraint;
  plan.config.vocabulary = &plan.vocabulary;
}

void check_live_beam(const sidbeam_beams& beams, const int32_t* before, int32_t slot, int32_t m, int32_t* codes) {
  const int64_t at = int64_t{slot} * beams.beams + m;
  FUZZ_CHECK(std::isfinite(beams.scores[at]));
  FUZZ_CHECK(m == 0 || beams.scores[at - 1] >= beams.scores[at]);
  FUZZ_CHECK(beams.states[at] >= 0);
  FUZZ_CHECK(beams.parents[at] < before[slot]);
  FUZZ_CHECK(beams.codes[at] <= codes[std::max(0, beams.level[slot] - 1)]);
}

void check_beams(const sidbeam_beams& beams, const int32_t* before, int32_t* codes) {
  for (int32_t slot = 0; slot < beams.slots; ++slot) {
    FUZZ_CHECK(beams.live[slot] >= 0 && beams.live[slot] <= beams.beams);
    FUZZ_CHECK(beams.active[slot] >= 0 && beams.active[slot] <= beams.live[slot]);
    for (int32_t m = 0; m < beams.beams; ++m) {
      const int64_t at = int64_t{slot} * beams.beams + m;
      if (m < beams.live[slot]) {
        check_live_beam(beams, before, slot, m, codes);
      } else {
        FUZZ_CHECK(beams.parents[at] == -1 && beams.codes[at] == -1);
        FUZZ_CHECK(std::isinf(beams.scores[at]) && beams.scores[at] < 0);
      }
    }
  }
}

// An invalid item is never returned: whoever has a whole SID has its ordinal, and no two have the same.
void check_items(sidbeam_session* session, const sidbeam_beams& beams, const Subject& subject, int32_t strategy) {
  const auto places = static_cast<size_t>(beams.slots) * static_cast<size_t>(beams.beams);
  std::vector<int64_t> ordinals(places), item_rows(static_cast<size_t>(beams.slots) * 64),
      offsets(static_cast<size_t>(beams.slots) * (static_cast<size_t>(beams.beams) + 1));
  std::vector<int32_t> sids(places * static_cast<size_t>(beams.levels)), lengths(places);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = 64;
  items.ordinals = ordinals.data();
  items.sids = sids.data();
  items.lengths = lengths.data();
  items.item_rows = item_rows.data();
  items.offsets = offsets.data();
  FUZZ_CHECK(sidbeam_session_get_items(session, nullptr, beams.slots, &items, nullptr) == SIDBEAM_OK);
  if (!subject.trusted) return;
  for (int32_t slot = 0; slot < beams.slots; ++slot) {
    std::vector<int64_t> seen;
    for (int32_t m = 0; m < beams.live[slot]; ++m) {
      const size_t at = static_cast<size_t>(slot) * static_cast<size_t>(beams.beams) + static_cast<size_t>(m);
      int64_t found = -1;
      const int32_t* sid = sids.data() + at * static_cast<size_t>(beams.levels);
      if (lengths[at] > 0)
        FUZZ_CHECK(sidbeam_index_find_sid(subject.index.get(), sid, lengths[at], &found, nullptr) == SIDBEAM_OK);
      if (ordinals[at] >= 0) {
        FUZZ_CHECK(found == ordinals[at]);
        FUZZ_CHECK(std::find(seen.begin(), seen.end(), found) == seen.end());
        seen.push_back(found);
      } else if (beams.active[slot] == 0) {
        FUZZ_CHECK(strategy == SIDBEAM_STRATEGY_NONE && found == -1);
      }
    }
  }
}

// An inverse temperature or a soft-cap; 0: none.
float draw_setting(FuzzedDataProvider& input) {
  return input.ConsumeBool() ? input.ConsumeFloatingPointInRange(0.001f, 100.0f) : 0.0f;
}

void start(FuzzedDataProvider& input, sidbeam_session* session, const Subject& subject, const Plan& plan) {
  const auto slots = static_cast<size_t>(plan.config.slots);
  std::vector<int32_t> widths(slots), prefixes(slots * 2), lengths(slots);
  for (size_t slot = 0; slot < slots; ++slot) {
    widths[slot] = input.ConsumeIntegralInRange(0, plan.config.beams);
    lengths[slot] = input.ConsumeIntegralInRange(0, std::min(2, subject.info.levels));
    for (int l = 0; l < lengths[slot]; ++l)
      prefixes[slot * 2 + static_cast<size_t>(l)] = input.ConsumeIntegralInRange(0, subject.info.codes[l] - 1);
  }
  sidbeam_start_args args = SIDBEAM_START_ARGS_INIT;
  args.widths = widths.data();
  args.prefixes = prefixes.data();
  args.prefix_lengths = lengths.data();
  args.prefix_stride = 2;
  std::vector<float> temperatures(slots), soft_caps(slots);
  for (float& temperature : temperatures) temperature = draw_setting(input);
  for (float& soft_cap : soft_caps) soft_cap = draw_setting(input);
  if (input.ConsumeBool()) args.inverse_temperatures = temperatures.data();
  if (input.ConsumeBool()) args.soft_caps = soft_caps.data();
  FUZZ_CHECK(sidbeam_session_start(session, &args, nullptr) == SIDBEAM_OK);
}

// Elements of the input's own bits, or of a few equal and friendly values, in a block of exactly their size.
fuzz::Block draw_logits(FuzzedDataProvider& input, size_t bytes, int32_t dtype) {
  std::vector<uint8_t> data(bytes);
  const bool friendly = input.ConsumeBool();
  const std::vector<uint8_t> drawn = input.ConsumeBytes<uint8_t>(input.ConsumeIntegralInRange<size_t>(1, 512));
  for (size_t i = 0; i < bytes && !drawn.empty(); ++i) data[i] = drawn[i % drawn.size()];
  if (friendly && dtype == SIDBEAM_DTYPE_F32)
    for (size_t i = 0; i < bytes / 4; ++i) {
      const float value = -static_cast<float>(data[i * 4] % 32) / 4;
      std::memcpy(data.data() + i * 4, &value, sizeof value);
    }
  return fuzz::block_of(data.data(), data.size());
}

void step(FuzzedDataProvider& input, sidbeam_session* session, const Plan& plan) {
  const int32_t slots = plan.config.slots, beams = plan.config.beams;
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  rows.dtype = input.ConsumeIntegralInRange(0, 2);
  const int64_t distinct = input.ConsumeIntegralInRange(1, 5);  // all beams read the first, or those of a map
  const bool mapped = input.ConsumeBool();
  const auto element = rows.dtype == SIDBEAM_DTYPE_F32 ? size_t{4} : size_t{2};
  const fuzz::Block block =
      draw_logits(input, static_cast<size_t>(distinct) * static_cast<size_t>(plan.columns) * element, rows.dtype);
  std::vector<int32_t> map;
  for (int32_t i = 0; mapped && i < slots * beams; ++i) map.push_back(static_cast<int32_t>(i % distinct));
  rows.data = block.get();
  rows.columns = plan.columns;
  rows.slots = mapped ? 0 : slots;
  rows.rows = mapped ? distinct : beams;
  if (!mapped) rows.slot_stride = rows.row_stride = SIDBEAM_BROADCAST;
  sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
  args.rows = &rows;
  args.row_map = mapped ? map.data() : nullptr;
  std::vector<float> lse;
  if (plan.config.normalization != SIDBEAM_NORMALIZE_NONE && input.ConsumeBool()) {
    const int64_t count = mapped ? distinct : int64_t{slots} * beams;
    const float value = input.ConsumeBool() ? 3.5f : input.ConsumeFloatingPoint<float>();
    lse.assign(static_cast<size_t>(count), value);
    args.lse = lse.data();
  }
  args.inverse_temperature = draw_setting(input);
  args.soft_cap = draw_setting(input);
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_beams before = SIDBEAM_BEAMS_INIT;
  FUZZ_CHECK(sidbeam_session_get_beams(session, &before, nullptr) == SIDBEAM_OK);
  const bool any = std::any_of(before.active, before.active + slots, [](int32_t active) { return active > 0; });
  const sidbeam_status status = sidbeam_session_step(session, &args, &err);
  // Some combinations may be refused; none may be a defect.
  FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_INVALID_ARGUMENT || status == SIDBEAM_UNSUPPORTED ||
             status == SIDBEAM_BAD_STATE);
  FUZZ_CHECK(any ? status != SIDBEAM_BAD_STATE : status != SIDBEAM_OK);
}

void run(FuzzedDataProvider& input, sidbeam_session* session, const Subject& subject, const Plan& plan) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  FUZZ_CHECK(sidbeam_session_get_beams(session, &beams, nullptr) == SIDBEAM_OK);
  start(input, session, subject, plan);
  std::vector<int32_t> codes(subject.info.codes, subject.info.codes + subject.info.levels);
  for (int calls = input.ConsumeIntegralInRange(1, 6); calls > 0; --calls) {
    std::vector<int32_t> before(beams.live, beams.live + beams.slots);
    const std::vector<int32_t> levels(beams.level, beams.level + beams.slots);
    step(input, session, plan);
    // A slot that was passed over still shows the step before.
    for (size_t slot = 0; slot < before.size(); ++slot)
      if (levels[slot] == beams.level[slot]) before[slot] = beams.beams;
    if (subject.trusted) check_beams(beams, before.data(), codes.data());
    check_items(session, beams, subject, plan.config.strategy);
    const int32_t slot = input.ConsumeIntegralInRange(0, beams.slots - 1);
    if (input.ConsumeIntegralInRange(0, 7) == 0)
      FUZZ_CHECK(sidbeam_session_stop(session, &slot, 1, nullptr, nullptr) == SIDBEAM_OK);
    if (input.ConsumeIntegralInRange(0, 7) == 0) start(input, session, subject, plan);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  Subject subject;
  if (input.ConsumeBool()) {
    subject.index = fuzz::index_of(draw_catalogue(input));
  } else {
    draw_damaged(input, subject);
    if (subject.index == nullptr) return 0;
  }
  FUZZ_CHECK(sidbeam_index_get_info(subject.index.get(), &subject.info, nullptr) == SIDBEAM_OK);
  sidbeam_constraint* constraint_made = nullptr;
  sidbeam_constraint_config whole = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  whole.index = subject.index.get();
  FUZZ_CHECK(sidbeam_constraint_create(&whole, &constraint_made, nullptr) == SIDBEAM_OK);
  const Handle<sidbeam_constraint> constraint(constraint_made);
  Plan plan;
  draw_plan(input, subject, constraint.get(), plan);
  sidbeam_session* made = nullptr;
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  const sidbeam_status status = sidbeam_session_create(fuzz::runtime(), &plan.config, &made, &err);
  const Handle<sidbeam_session> session(made);
  FUZZ_CHECK(status == SIDBEAM_OK || status == SIDBEAM_MISSING_SECTION || status == SIDBEAM_UNSUPPORTED ||
             status == SIDBEAM_INVALID_ARGUMENT);
  if (status == SIDBEAM_OK) run(input, session.get(), subject, plan);
  return 0;
}
