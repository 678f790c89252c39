// The stateless calls on the CPU.
// SPDX-License-Identifier: Apache-2.0
#include "backend/cpu/cpu_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backend/constraint.h"
#include "backend/cpu/draw.h"
#include "backend/cpu/row_scan.h"
#include "backend/cpu/sum_ahead.h"
#include "backend/cpu/valid_columns.h"
#include "backend/sampling.h"
#include "backend/settings.h"
#include "index/read/prefix_states.h"
#include "index/read/state.h"
#include "support/error.h"
#include "support/spares.h"

namespace sidbeam::cpu {
namespace {

template <class Element>
void fill_unset(const uint64_t* valid, int64_t n, Element minus_infinity, Element* out) {
  for (int64_t first = 0; first < n; first += 64) {
    const uint64_t word = valid[first / 64];
    const int64_t end = std::min<int64_t>(n, first + 64);
    for (int64_t c = first; c < end; ++c)
      if ((word >> (c - first) & 1) == 0) out[c] = minus_infinity;
  }
}

// Works block by block, so that the set of valid columns fits on the stack for any vocabulary.
void mask_row(const StateRow& row, const sidbeam_rows& rows, int64_t i, void* data) {
  constexpr int64_t kMaskedColumns = 65536;
  uint64_t valid[kMaskedColumns / 64];
  const int64_t offset = i * rows.row_stride;
  for (int64_t first = 0; first < rows.columns; first += kMaskedColumns) {
    const int64_t n = std::min(kMaskedColumns, rows.columns - first);
    std::fill(valid, valid + (n + 63) / 64, 0);
    for_each_valid_column(row, [&](int64_t column) {
      if (column >= first && column < first + n) valid[(column - first) / 64] |= uint64_t{1} << ((column - first) % 64);
    });
    if (rows.dtype == SIDBEAM_DTYPE_F32) {
      fill_unset(valid, n, -std::numeric_limits<float>::infinity(), static_cast<float*>(data) + offset + first);
    } else {
      const uint16_t minus_infinity = rows.dtype == SIDBEAM_DTYPE_F16 ? 0xFC00 : 0xFF80;
      fill_unset(valid, n, minus_infinity, static_cast<uint16_t*>(data) + offset + first);
    }
  }
}

// The working memory of top-k calls.
struct TopkWorkspace {
  RowWorkspace rows;
  Selection selection;
};

// What turns a row's elements into log-probabilities.
struct RowScoring {
  int32_t normalization = 0;
  float inverse_temperature = 1.0F;
  Truncation truncation;
};

// A logits row, ready to be scanned.
struct Scan {
  SlotPlan plan;
  RowTask task;
  NodeRow found;
};

// False if nothing follows the row's state.
bool prepare(const Kernels& kernels, const StateRow& row, const sidbeam_rows& rows, const RowScoring& scoring,
             int64_t i, RowWorkspace& workspace, Scan& scan) {
  if (!is_live(row.state) || is_ended(row.state)) return false;
  const State state = decode_state(row.state);
  if (state.level >= row.index->levels) return false;
  SlotPlan& plan = scan.plan;
  plan.kernels = &kernels;
  plan.index = row.index;
  plan.rules = row.rules;
  plan.level = state.level;
  plan.strategy = SIDBEAM_STRATEGY_TRIE;
  plan.columns = row.columns[state.level];
  plan.column_count = rows.columns;
  plan.elements = {rows.data, rows.dtype, scoring.inverse_temperature, 0.0F};
  plan.truncation = scoring.truncation;
  decide(plan, scoring.normalization, false);
  RowTask& task = scan.task;
  task.data = static_cast<const char*>(rows.data) + i * rows.row_stride * element_bytes(rows.dtype);
  task.node = state.node;
  if (has_row(plan, state.node)) scan.found = find_row(plan, state.node);
  task.found = &scan.found;
  if (plan.sums_ahead()) {
    RowsToSum sums;
    sums.elements = plan.elements;
    sums.elements.data = task.data;
    sums.count = 1;
    sums.stride = rows.row_stride * element_bytes(rows.dtype);  // the next row is fetched
    task.maxima = sum_ahead(plan, sums, workspace, &task.row.normalizer);
  }
  return true;
}

// Nothing is appended unless the outcome is kReady.
RowOutcome scan_state(const Kernels& kernels, const StateRow& row, const sidbeam_rows& rows, int32_t normalization,
                      int64_t i, TopkWorkspace& workspace) {
  Scan scan;
  if (!prepare(kernels, row, rows, {normalization, 1.0F, {}}, i, workspace.rows, scan)) return RowOutcome::kEmpty;
  StepCounters counters;
  return scan_row(scan.plan, scan.task, workspace.rows, workspace.selection, counters);
}

// A draw as a call writes it.
struct SampledRow {
  int32_t code = -1;
  float log_prob = -std::numeric_limits<float>::infinity(), log_mass = -std::numeric_limits<float>::infinity();
  int64_t next = kDeadState;
};

SampledRow sample_state(const Kernels& kernels, const StateRow& row, const sidbeam_rows& rows,
                        const RowScoring& scoring, const SlotSampling& sampling, int64_t i, RowWorkspace& workspace) {
  Scan scan;
  SampledRow result;
  if (!prepare(kernels, row, rows, scoring, i, workspace, scan)) return result;
  StepCounters counters;
  ListedRow listed;
  RowOutcome outcome = list_row(scan.plan, scan.task, workspace, counters, listed);
  if (outcome == RowOutcome::kReady) {
    const int64_t draw = sampling.draws != nullptr ? *sampling.draws : 0;
    const uint64_t bits = draw_bits(sampling.seed, sampling.request, draw, RandomUse::kCode, scan.plan.level);
    Drawn drawn;
    draw_codes(scan.plan, listed, workspace, &bits, 1, &drawn);
    result = {static_cast<int32_t>(drawn.code), drawn.log_prob, drawn.log_mass,
              next_state(*row.index, row.state, drawn.code)};
    if (!std::isfinite(result.log_prob) || !std::isfinite(result.log_mass)) result = {};
    if (drawn.log_prob == std::numeric_limits<float>::infinity()) outcome = RowOutcome::kBad;
  }
  if (outcome == RowOutcome::kBad) result.log_prob = std::numeric_limits<float>::quiet_NaN();
  return result;
}

float temperature_of(const SetSampling& how, int64_t i) {
  return how.inverse_temperatures != nullptr ? how.inverse_temperatures[i] : 0.0F;
}

void check_entries(const SamplingCall& call, const SetSampling& how, int64_t columns, uint32_t codes) {
  for (int64_t i = 0; i < call.count; ++i) {
    check_inverse_temperature({"inverse_temperatures", i, temperature_of(how, i), "1"});
    const Truncation truncation = sampling_of(call, how.arrays, i, 1).truncation;
    if (!can_truncate(truncation, columns))
      fail(SIDBEAM_INVALID_ARGUMENT, "logits.columns is %lld, expected at most %lld with top-k or top-p (row %lld)",
           static_cast<long long>(columns), static_cast<long long>(kMostTruncated), static_cast<long long>(i));
    if (!can_truncate(truncation, codes))
      fail(SIDBEAM_INVALID_ARGUMENT,
           "the set has a level of %u codes, expected at most %lld with top-k or top-p (row %lld)", codes,
           static_cast<long long>(kMostTruncated), static_cast<long long>(i));
  }
}

void write_topk(const StateRow& row, const Selection& selection, int32_t count, int32_t k, int32_t* codes,
                float* log_probs, int64_t* next) {
  for (int32_t j = 0; j < k; ++j) {
    const bool there = j < count;
    const uint32_t code = there ? selection.places()[j] : 0;
    codes[j] = there ? static_cast<int32_t>(code) : -1;
    log_probs[j] = there ? selection.scores()[j] : -std::numeric_limits<float>::infinity();
    if (next != nullptr) next[j] = there ? next_state(*row.index, row.state, code) : kDeadState;
  }
}

struct RuledIndex {
  const IndexView* index = nullptr;
  const RulesView* rules = nullptr;
};

class CpuSet final : public SetBackend {
 public:
  CpuSet(const Kernels& kernels, const SetShape& shape, const Allocator& allocator)
      : kernels_(kernels), columns_(shape.vocabulary.columns), codes_(shape.codes), allocator_(allocator) {
    for (int32_t i = 0; i < shape.count; ++i)
      ruled_.push_back({&shape.constraints[i]->view(), shape.constraints[i]->rules()});
  }

  void prefixes(const SetCall& call, const PrefixArray& prefixes, const int32_t* lengths, int64_t* out) const override {
    check_which(call);
    for (int64_t i = 0; i < call.count; ++i) {
      if (lengths[i] > 0 && prefixes.codes == nullptr)
        fail(SIDBEAM_INVALID_ARGUMENT, "codes is NULL, expected the codes of prefixes");
      if (lengths[i] < 0 || lengths[i] > prefixes.capacity)
        fail(SIDBEAM_INVALID_ARGUMENT, "lengths[%lld] is %d, expected 0..%d", static_cast<long long>(i), lengths[i],
             prefixes.capacity);
    }
    for (int64_t i = 0; i < call.count; ++i)
      out[i] = allowed(ruled_of(call, i), trie_state(*ruled_of(call, i).index, prefixes.of(i), lengths[i]));
  }

  void advance(const SetCall& call, const int64_t* in, int64_t in_count, const int32_t* parents, const int32_t* codes,
               int64_t* out) const override {
    check_which(call);
    for (int64_t i = 0; i < call.count; ++i) {
      const int64_t parent = parents != nullptr ? parents[i] : i;
      const RuledIndex& of = ruled_of(call, i);
      out[i] =
          parent >= 0 && parent < in_count ? allowed(of, advance_state(*of.index, in[parent], codes[i])) : kDeadState;
    }
  }

  void mask(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, void* data) const override {
    check_which(call);
    for (int64_t i = 0; i < call.count; ++i) mask_row(state_row(call, i, states[i]), rows, i, data);
  }

  void bitmask(const SetCall& call, const int64_t* states, int64_t words_per_row, uint32_t* words) const override {
    check_which(call);
    for (int64_t i = 0; i < call.count; ++i) {
      uint32_t* own = words + i * words_per_row;
      std::fill(own, own + words_per_row, 0U);
      for_each_valid_column(state_row(call, i, states[i]),
                            [&](int64_t column) { own[column / 32] |= 1U << (column % 32); });
    }
  }

  void topk(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, int32_t normalization, int32_t k,
            int32_t* codes, float* log_probs, int64_t* next) const override {
    check_which(call);
    const auto width = static_cast<int32_t>(std::min<int64_t>(k, int64_t{codes_} + 1));
    const StepLimits limits{0, 0, 0, codes_, false};
    TopkWorkspace workspace{RowWorkspace(kernels_, allocator_, limits), Selection(kernels_, allocator_, width)};
    for (int64_t i = 0; i < call.count; ++i) {
      workspace.selection.reset(width);
      const StateRow row = state_row(call, i, states[i]);
      const RowOutcome outcome = scan_state(kernels_, row, rows, normalization, i, workspace);
      const int32_t count = outcome == RowOutcome::kReady ? workspace.selection.finish() : 0;
      write_topk(row, workspace.selection, count, k, codes + i * k, log_probs + i * k,
                 next != nullptr ? next + i * k : nullptr);
      if (outcome == RowOutcome::kBad) log_probs[i * k] = std::numeric_limits<float>::quiet_NaN();
    }
  }

  void sample(const SetCall& call, const int64_t* states, const sidbeam_rows& rows, const SetSampling& how,
              const sidbeam_sampled& out) const override {
    check_which(call);
    const SamplingCall checks{SIDBEAM_MODE_SAMPLE, 1, call.count, 0};
    check_entries(checks, how, rows.columns, codes_);
    const auto workspace = spares_.take([&] { return RowWorkspace(kernels_, allocator_, {0, 0, 0, codes_, true}); });
    for (int64_t i = 0; i < call.count; ++i) {
      const SlotSampling sampling = sampling_of(checks, how.arrays, i, 1);
      const RowScoring scoring{how.normalization,
                               first_given({temperature_of(how, i), 0.0F}, {0.0F, 0.0F}).inverse_temperature,
                               sampling.truncation};
      const SampledRow row =
          sample_state(kernels_, state_row(call, i, states[i]), rows, scoring, sampling, i, *workspace);
      out.codes[i] = row.code;
      if (out.log_probs != nullptr) out.log_probs[i] = row.log_prob;
      if (out.log_masses != nullptr) out.log_masses[i] = row.log_mass;
      if (out.next != nullptr) out.next[i] = row.next;
    }
  }

 private:
  void check_which(const SetCall& call) const {
    for (int64_t i = 0; call.which != nullptr && i < call.count; ++i)
      if (call.which[i] < 0 || static_cast<size_t>(call.which[i]) >= ruled_.size())
        fail(SIDBEAM_INVALID_ARGUMENT, "which[%lld] is %d, expected 0..%zu", static_cast<long long>(i), call.which[i],
             ruled_.size() - 1);
  }
  const RuledIndex& ruled_of(const SetCall& call, int64_t i) const {
    return ruled_[static_cast<size_t>(call.which != nullptr ? call.which[i] : 0)];
  }
  // A state of the index, or dead where the rules do not allow it.
  static int64_t allowed(const RuledIndex& of, int64_t state) {
    return is_live(state) && !allows_state(*of.index, of.rules, decode_state(state)) ? kDeadState : state;
  }
  StateRow state_row(const SetCall& call, int64_t i, int64_t state) const {
    const RuledIndex& of = ruled_of(call, i);
    return {of.index, of.rules, is_trie_state(*of.index, state) ? allowed(of, state) : kDeadState, columns_};
  }
  const Kernels& kernels_;
  std::vector<RuledIndex> ruled_;
  const LevelColumns* columns_;  // by level
  uint32_t codes_;               // of the widest level of any index, the end not counted
  Allocator allocator_;
  mutable Spares<RowWorkspace> spares_;  // of calls that draw
};

}  // namespace

std::unique_ptr<SetBackend> make_cpu_set(const Kernels& kernels, const SetShape& shape, const Allocator& allocator) {
  return std::make_unique<CpuSet>(kernels, shape, allocator);
}

}  // namespace sidbeam::cpu
