// SPDX-License-Identifier: Apache-2.0
#include "index/live/request_rules.h"

#include <algorithm>

namespace sidbeam {
namespace {

const RulesView* delta_of(const RulesView* filter) { return filter != nullptr ? filter->delta : nullptr; }

}  // namespace

// Leaves those of the base in `rows`; returns the others as rows of the delta, rising.
SortedRows RequestRules::split(const Tries& tries, SortedRows& rows, const Allocator& allocator) {
  if (tries.overlay() == nullptr) return {};
  const uint64_t *end = rows.rows + rows.count, *first = std::lower_bound(rows.rows, end, tries.index.items);
  if (split_.size() < end - first) split_ = Buffer<uint64_t>(allocator, end - first);
  const int64_t count = end - first;
  std::transform(first, end, split_.data(), [&](uint64_t row) { return delta_row(tries.index, row); });
  std::sort(split_.data(), split_.data() + count);
  rows.count = first - rows.rows;
  return {split_.data(), count};
}

void RequestRules::exclude(const Of& of, const SortedRows& rows, const RequestRules* before,
                           const Allocator& allocator) {
  SortedRows in_base = rows;
  const SortedRows in_delta = split(of.tries, in_base, allocator);
  base_.exclude({of.tries.index, of.tries.parents, of.filter}, in_base, before != nullptr ? &before->base_ : nullptr,
                allocator);
  if (of.tries.overlay() != nullptr)
    delta_.exclude({of.tries.delta(), *of.tries.delta_parents, delta_of(of.filter)}, in_delta,
                   before != nullptr ? &before->delta_ : nullptr, allocator);
  join(of, allocator);
}

void RequestRules::allow_only(const Of& of, const SortedRows& rows, const Allocator& allocator) {
  SortedRows in_base = rows;
  const SortedRows in_delta = split(of.tries, in_base, allocator);
  base_.allow_only({of.tries.index, of.tries.parents, of.filter}, in_base, allocator);
  if (of.tries.overlay() != nullptr)
    delta_.allow_only({of.tries.delta(), *of.tries.delta_parents, delta_of(of.filter)}, in_delta, allocator);
  join(of, allocator);
}

void RequestRules::join(const Of& of, const Allocator& allocator) {
  view_ = base_.view();
  if (of.tries.overlay() == nullptr) return;
  of_delta_ = delta_.view();
  view_.delta = &of_delta_;
  if (of.filter != nullptr) {
    view_.merged = of.filter->merged;
    return;
  }
  if (all_.size() < of.tries.index.levels) all_ = Buffer<LevelRules>(allocator, of.tries.index.levels);
  std::fill(all_.begin(), all_.end(), LevelRules());
  of_merged_.level = all_.data();
  view_.merged = &of_merged_;
}

void RequestRules::listed_rows(const IndexView& index, uint64_t* out) const {
  const NumberList &of_base = view_.rows.listed, none, &of_delta = has_delta() ? of_delta_.rows.listed : none;
  for (uint64_t i = 0; i < of_base.count; ++i) *out++ = of_base.numbers[i];
  uint64_t* const first = out;
  for (uint64_t i = 0; i < of_delta.count; ++i) *out++ = index.overlay->rows[of_delta.numbers[i]];
  std::sort(first, out);
}

}  // namespace sidbeam
