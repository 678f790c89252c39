// SPDX-License-Identifier: Apache-2.0
#include "index/live/filter_bits.h"

#include <algorithm>

#include "index/rules/bits.h"
#include "index/rules/row_bits.h"

namespace sidbeam {
namespace {

// The rows of the base alone, as far as they are live.
Buffer<uint64_t> base_rows(uint64_t items, const uint64_t* rows, const uint64_t* live, const Allocator& allocator) {
  Buffer<uint64_t> out = make_bits(items, allocator);
  for (uint64_t w = 0; w < row_words(items); ++w)
    out[static_cast<int64_t>(w)] = rows[w] & (live != nullptr ? live[w] : ~uint64_t{0}) & row_mask(w, items);
  return out;
}

// Those of the delta, in its order.
Buffer<uint64_t> delta_rows(const IndexView& index, const uint64_t* rows, const uint64_t* live,
                            const Allocator& allocator) {
  const OverlayView& overlay = *index.overlay;
  Buffer<uint64_t> out = zero_bits(overlay.delta->items, allocator);
  for (uint64_t i = 0; i < overlay.delta->items; ++i) {
    const uint64_t row = overlay.rows[i];
    if (has_bit(rows, row) && (live == nullptr || has_bit(live, row))) put_bit(out.data(), i, true);
  }
  return out;
}

// Changed rows of the base and, as rows of the delta, the others, both rising.
struct SplitRows {
  Buffer<uint64_t> base, delta;
  int64_t base_count = 0, delta_count = 0;

  SplitRows(const IndexView& index, const ChangedRows& changed, const Allocator& allocator)
      : base(allocator, changed.count), delta(allocator, index.overlay != nullptr ? changed.count : 0) {
    for (int64_t i = 0; i < changed.count; ++i) {
      if (changed.rows[i] < index.items) {
        base[base_count++] = changed.rows[i];
      } else {
        delta[delta_count++] = delta_row(index, changed.rows[i]);
      }
    }
    std::sort(delta.data(), delta.data() + delta_count);
  }
};

}  // namespace

// Returns the base's rows.
const uint64_t* FilterBits::take_rows(const Tries& tries, const uint64_t* rows, const uint64_t* live,
                                      const Allocator& allocator) {
  if (live == nullptr && tries.overlay() == nullptr) return rows;
  base_rows_ = base_rows(tries.index.items, rows, live, allocator);
  if (tries.overlay() != nullptr) delta_rows_ = delta_rows(tries.index, rows, live, allocator);
  return base_rows_.data();
}

FilterBits::FilterBits(const Tries& tries, const uint64_t* rows, const uint64_t* live, int threads,
                       const Allocator& allocator) {
  base_.emplace(tries.index, tries.parents, take_rows(tries, rows, live, allocator), threads, allocator);
  if (tries.overlay() != nullptr)
    delta_.emplace(tries.delta(), *tries.delta_parents, delta_rows_.data(), threads, allocator);
  join(tries, threads, allocator);
}

FilterBits::FilterBits(const Tries& tries, const uint64_t* rows, const uint64_t* live, const FilterBits& before,
                       const ChangedRows& changed, int threads, const Allocator& allocator) {
  const uint64_t* of_base = take_rows(tries, rows, live, allocator);
  const SplitRows split(tries.index, changed, allocator);
  base_.emplace(tries.index, tries.parents, of_base, *before.base_, split.base.data(), split.base_count, allocator);
  if (tries.overlay() != nullptr && changed.same_delta) {
    delta_.emplace(tries.delta(), *tries.delta_parents, delta_rows_.data(), *before.delta_, split.delta.data(),
                   split.delta_count, allocator);
  } else if (tries.overlay() != nullptr) {
    delta_.emplace(tries.delta(), *tries.delta_parents, delta_rows_.data(), threads, allocator);
  }
  join(tries, threads, allocator);
}

void FilterBits::join(const Tries& tries, int threads, const Allocator& allocator) {
  view_ = base_->view();
  sid_count_ = base_->sids();
  if (tries.overlay() == nullptr) return;
  of_delta_ = delta_->view();
  merged_.emplace(tries.index, view_, of_delta_, threads, allocator);
  view_.delta = &of_delta_;
  of_merged_.level = merged_->levels();
  view_.merged = &of_merged_;
  sid_count_ += delta_->sids();
  for (uint64_t i = 0; i < tries.overlay()->shared; ++i)
    if (has_bit(view_.sids.bits, tries.overlay()->shared_ordinals[i]) &&
        has_bit(of_delta_.sids.bits, tries.overlay()->shared_delta_ordinals[i]))
      --sid_count_;
}

int64_t FilterBits::bytes() const {
  return base_rows_.bytes() + delta_rows_.bytes() + base_->bytes() + (delta_ ? delta_->bytes() : 0) +
         (merged_ ? merged_->bytes() : 0);
}

}  // namespace sidbeam
