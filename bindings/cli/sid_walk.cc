// SPDX-License-Identifier: Apache-2.0
#include "sid_walk.h"

#include <algorithm>
#include <numeric>

#include "items.h"
#include "terminal.h"

namespace cli {
namespace {

constexpr size_t kAtOnce = 4096;  // ordinals

// The live item rows of some ordinals.
void list_rows(const sidbeam_index* index, const sidbeam_index_info& info, const std::vector<int64_t>& ordinals,
               std::vector<int64_t>& offsets, std::vector<int64_t>& rows) {
  const int64_t count = std::ssize(ordinals);
  offsets.resize(ordinals.size() + 1);
  const auto list = [&](int64_t limit, int64_t* out) {
    call(sidbeam_index_items, index, ordinals.data(), count, int64_t{0}, limit, 0, out, offsets.data(), nullptr);
  };
  list(0, nullptr);
  if (offsets.back() > info.items)
    throw Failure(with_commas(count) + " SIDs have " + with_commas(offsets.back()) + " items, expected at most " +
                  with_commas(info.items) + ": the index is damaged");
  rows.resize(static_cast<size_t>(offsets.back()));
  if (!rows.empty()) list(offsets.back(), rows.data());
}

}  // namespace

bool sid_before(std::span<const int32_t> a, std::span<const int32_t> b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end()) return false;
  return y == b.end() || *x < *y;
}

SidWalk::SidWalk(const sidbeam_index* index) : index_(index), info_(index_info(index)), base_(info_.sids) {
  if (info_.version > 0) sort_added();
}

std::vector<int32_t> SidWalk::read_sid(int64_t ordinal) const { return cli::sid_of(index_, info_.levels, ordinal); }

void SidWalk::sort_added() {
  std::vector<int32_t> before;
  for (base_ = 0; base_ < info_.sids; ++base_) {
    std::vector<int32_t> sid = read_sid(base_);
    if (!before.empty() && !sid_before(before, sid)) break;
    before = std::move(sid);
  }
  added_.resize(static_cast<size_t>(info_.sids - base_));
  std::iota(added_.begin(), added_.end(), base_);
  std::sort(added_.begin(), added_.end(),
            [this](int64_t a, int64_t b) { return sid_before(read_sid(a), read_sid(b)); });
}

// The ordinal of the next SID, which codes_ and lengths_ get; -1 at the end.
int64_t SidWalk::next_ordinal() {
  if (base_sid_.empty() && next_base_ < base_) base_sid_ = read_sid(next_base_);
  if (added_sid_.empty() && next_added_ < added_.size()) added_sid_ = read_sid(added_[next_added_]);
  if (base_sid_.empty() && added_sid_.empty()) return -1;
  const bool from_base = added_sid_.empty() || (!base_sid_.empty() && !sid_before(added_sid_, base_sid_));
  std::vector<int32_t>& sid = from_base ? base_sid_ : added_sid_;
  lengths_.push_back(static_cast<int32_t>(sid.size()));
  sid.resize(static_cast<size_t>(info_.levels));
  codes_.insert(codes_.end(), sid.begin(), sid.end());
  sid.clear();
  return from_base ? next_base_++ : added_[next_added_++];
}

bool SidWalk::fill() {
  ordinals_.clear();
  codes_.clear();
  lengths_.clear();
  for (int64_t ordinal = 0; ordinals_.size() < kAtOnce && (ordinal = next_ordinal()) >= 0;)
    ordinals_.push_back(ordinal);
  done_ += std::ssize(ordinals_);
  if (ordinals_.empty()) return false;
  list_rows(index_, info_, ordinals_, offsets_, rows_);
  return true;
}

bool SidWalk::next() {
  for (++at_;; ++at_) {
    if (at_ >= ordinals_.size()) {
      if (!fill()) return false;
      at_ = 0;
    }
    if (offsets_[at_] < offsets_[at_ + 1]) return true;
  }
}

void each_live_sid(const sidbeam_index* index,
                   const std::function<void(int64_t ordinal, std::span<const int64_t> rows)>& take) {
  const sidbeam_index_info info = index_info(index);
  std::vector<int64_t> ordinals, offsets, rows;
  for (int64_t first = 0; first < info.sids; first += std::ssize(ordinals)) {
    ordinals.resize(static_cast<size_t>(std::min<int64_t>(kAtOnce, info.sids - first)));
    std::iota(ordinals.begin(), ordinals.end(), first);
    list_rows(index, info, ordinals, offsets, rows);
    for (size_t i = 0; i < ordinals.size(); ++i)
      take(ordinals[i], {rows.data() + offsets[i], rows.data() + offsets[i + 1]});
  }
}

}  // namespace cli
