// The CPU as a backend: steppers, and the stateless forms.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <new>

#include "backend/backend.h"
#include "backend/cpu/partial_sum.h"
#include "backend/cpu/stepper.h"
#include "backend/cpu/sum_ahead.h"
#include "index/state.h"

namespace sidbeam {
namespace {

using cpu::Kernels;

// Calls visit(column) for every valid column of a row, the end's last.
template <class Visit>
void for_each_valid_column(const StateRow& row, const Visit& visit) {
  if (!is_live(row.state) || is_ended(row.state)) return;
  const State state = decode_state(row.state);
  if (state.level >= row.index->levels) return;
  const LevelView& level = row.index->level[state.level];
  const LevelColumns& columns = row.columns[state.level];
  for_each_child(*row.index, state, [&](uint32_t token) {
    if (token < level.codes) {
      visit(columns.column(token));
    } else if (row.index->variable_length && columns.end_column >= 0 && token == level.codes) {
      visit(columns.end_column);
    }
  });
}

template <class Element>
void fill_unset(const uint64_t* valid, int64_t n, Element minus_infinity, Element* out) {
  for (int64_t first = 0; first < n; first += 64) {
    const uint64_t word = valid[first / 64];
    const int64_t end = std::min<int64_t>(n, first + 64);
    for (int64_t c = first; c < end; ++c)
      if ((word >> (c - first) & 1) == 0) out[c] = minus_infinity;
  }
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const Kernels& kernels, std::unique_ptr<Executor> executor, int64_t grain)
      : kernels_(kernels), executor_(std::move(executor)), grain_(grain) {}

  std::unique_ptr<Stepper> make_stepper(const Allocator& allocator) const override {
    if (executor_ != nullptr) executor_->prepare();
    return std::make_unique<cpu::CpuStepper>(kernels_, allocator, executor_.get(), grain_);
  }

  // Block by block, so that the set of valid columns fits the stack whatever the vocabulary.
  void mask_row(const StateRow& row, const sidbeam_rows& rows, int64_t i) const override {
    constexpr int64_t kBlock = 65536;
    uint64_t valid[kBlock / 64];
    const int64_t offset = i * rows.row_stride;
    for (int64_t first = 0; first < rows.columns; first += kBlock) {
      const int64_t n = std::min(kBlock, rows.columns - first);
      std::fill(valid, valid + (n + 63) / 64, 0);
      for_each_valid_column(row, [&](int64_t column) {
        if (column >= first && column < first + n)
          valid[(column - first) / 64] |= uint64_t{1} << ((column - first) % 64);
      });
      if (rows.dtype == SIDBEAM_F32) {
        fill_unset(valid, n, -std::numeric_limits<float>::infinity(), static_cast<float*>(rows.data) + offset + first);
      } else {
        const uint16_t minus_infinity = rows.dtype == SIDBEAM_F16 ? 0xFC00 : 0xFF80;
        fill_unset(valid, n, minus_infinity, static_cast<uint16_t*>(rows.data) + offset + first);
      }
    }
  }

  void bitmask_row(const StateRow& row, uint32_t* words, int64_t words_per_row) const override {
    std::fill(words, words + words_per_row, 0U);
    for_each_valid_column(row, [&](int64_t column) { words[column / 32] |= 1U << (column % 32); });
  }

  void topk_rows(const StateRow* state_rows, const sidbeam_rows& rows, const RowRule& rule, int32_t k,
                 const StepLimits& limits, const Allocator& allocator, int32_t* tokens, float* log_probs,
                 int64_t* next) const override {
    const auto width = static_cast<int32_t>(std::min<int64_t>(k, int64_t{limits.codes} + 1));
    cpu::Selection selection(kernels_, allocator, width);
    cpu::RowWorkspace workspace(kernels_, allocator, limits);
    for (int64_t i = 0; i < rows.rows; ++i) {
      selection.reset(width);
      const bool good = scan_state(state_rows[i], rows, rule, i, workspace, selection);
      const int32_t count = good ? selection.finish() : 0;
      write_topk(state_rows[i], selection, count, k, tokens + i * k, log_probs + i * k,
                 next != nullptr ? next + i * k : nullptr);
      if (!good) log_probs[i * k] = std::numeric_limits<float>::quiet_NaN();
    }
  }

 private:
  bool scan_state(const StateRow& row, const sidbeam_rows& rows, const RowRule& rule, int64_t i,
                  cpu::RowWorkspace& workspace, cpu::Selection& selection) const {
    if (!is_live(row.state) || is_ended(row.state)) return true;
    const State state = decode_state(row.state);
    if (state.level >= row.index->levels) return true;
    cpu::SlotScan scan;
    scan.kernels = &kernels_;
    scan.index = row.index;
    scan.level = state.level;
    scan.strategy = SIDBEAM_STRATEGY_TRIE;
    scan.normalization = rule.normalization;
    scan.columns = row.columns[state.level];
    scan.column_count = rows.columns;
    scan.elements = {rows.data, rows.dtype, rule.inverse_temperature, rule.soft_cap};
    cpu::decide(scan, false);
    cpu::RowTask task;
    task.data = static_cast<const char*>(rows.data) + i * rows.row_stride * element_bytes(rows.dtype);
    task.node = state.node;
    NodeRow found;
    if (scan.by_row) found = node_row(row.index->level[state.level], state.node);
    task.found = &found;
    if (scan.sums_ahead) {
      cpu::RowsToSum sums;
      sums.elements = scan.elements;
      sums.elements.data = task.data;
      sums.count = 1;
      sums.stride = rows.row_stride * element_bytes(rows.dtype);  // the next row is fetched
      task.maxima = cpu::sum_ahead(scan, sums, workspace, &task.row.normalizer);
    }
    sidbeam_stats stats{};
    return cpu::scan_row(scan, task, workspace, selection, stats);
  }

  static void write_topk(const StateRow& row, const cpu::Selection& selection, int32_t count, int32_t k,
                         int32_t* tokens, float* log_probs, int64_t* next) {
    for (int32_t j = 0; j < k; ++j) {
      const bool there = j < count;
      const uint32_t token = there ? cpu::token_of(selection.places()[j]) : 0;
      tokens[j] = there ? static_cast<int32_t>(token) : -1;
      log_probs[j] = there ? selection.scores()[j] : -std::numeric_limits<float>::infinity();
      if (next != nullptr) next[j] = there ? next_state(*row.index, row.state, token) : kDeadState;
    }
  }

  const Kernels& kernels_;
  std::unique_ptr<Executor> executor_;
  int64_t grain_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const char* target, std::unique_ptr<Executor> executor, int64_t grain) {
  const Kernels* kernels = cpu::find_kernels(target);
  return kernels != nullptr ? std::make_unique<CpuBackend>(*kernels, std::move(executor), grain) : nullptr;
}

const char* best_cpu_target() { return cpu::find_kernels(nullptr)->name; }

}  // namespace sidbeam
