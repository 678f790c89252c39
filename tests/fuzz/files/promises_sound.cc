// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <set>

#include "promises.h"

namespace fuzz {
namespace {

using Sid = std::vector<int32_t>;

// Larger ones would only take longer.
constexpr int64_t kMostSids = 512;

Sid sid_of(const sidbeam_index* index, int64_t ordinal) {
  Sid sid(SIDBEAM_MAX_LEVELS);
  int32_t length = 0;
  FUZZ_CHECK(sidbeam_index_sid(index, ordinal, sid.data(), &length, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(length > 0);
  sid.resize(static_cast<size_t>(length));
  return sid;
}

int64_t find(const sidbeam_index* index, const int32_t* codes, size_t length) {
  int64_t ordinal = -2;
  FUZZ_CHECK(sidbeam_index_find_sid(index, codes, static_cast<int32_t>(length), &ordinal, nullptr) == SIDBEAM_OK);
  return ordinal;
}

// The end of a SID comes after every code.
bool comes_before(const Sid& a, const Sid& b) {
  const auto [x, y] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (x == a.end() || y == b.end()) return y == b.end() && x != a.end();
  return *x < *y;
}

std::vector<Sid> check_sids(const sidbeam_index* index, const sidbeam_index_info& info) {
  std::vector<Sid> sids;
  for (int64_t ordinal = 0; ordinal < info.sids; ++ordinal) {
    sids.push_back(sid_of(index, ordinal));
    const Sid& sid = sids.back();
    FUZZ_CHECK(sid.size() >= static_cast<size_t>(info.shortest) && sid.size() <= static_cast<size_t>(info.longest));
    for (size_t l = 0; l < sid.size(); ++l) FUZZ_CHECK(sid[l] >= 0 && sid[l] < info.codes[l]);
    FUZZ_CHECK(ordinal == 0 || comes_before(sids[sids.size() - 2], sid));
    FUZZ_CHECK(find(index, sid.data(), sid.size()) == ordinal);
  }
  return sids;
}

// Of every prefix: the children that its SIDs have, and no others; their ordinals side by side.
void check_prefix(const sidbeam_index* index, const sidbeam_index_info& info, const std::vector<Sid>& sids,
                  const Sid& prefix) {
  std::set<int32_t> codes;
  bool ends = false;
  int64_t first = -1, last = -1;
  for (size_t i = 0; i < sids.size(); ++i) {
    const Sid& sid = sids[i];
    if (sid.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), sid.begin())) continue;
    if (first < 0) first = static_cast<int64_t>(i);
    last = static_cast<int64_t>(i);
    if (sid.size() == prefix.size()) ends = true;
    if (sid.size() > prefix.size()) codes.insert(sid[prefix.size()]);
  }
  int64_t lo = -1, hi = -1, count = 0;
  int32_t end = -1;
  const auto length = static_cast<int32_t>(prefix.size());
  FUZZ_CHECK(sidbeam_index_ordinals(index, prefix.data(), length, &lo, &hi, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(lo == first && hi == last + 1);
  if (length == info.levels) return;
  std::vector<int32_t> children(codes.size() + 1);
  FUZZ_CHECK(sidbeam_index_children(index, prefix.data(), length, static_cast<int64_t>(children.size()),
                                    children.data(), &count, &end, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(count == static_cast<int64_t>(codes.size()) && end == (ends ? 1 : 0));
  FUZZ_CHECK(std::equal(codes.begin(), codes.end(), children.begin()));
  FUZZ_CHECK(count + end <= info.max_children[length]);
}

// Where priorities are kept, those of a SID have the highest first.
void check_priorities(const sidbeam_index* index, int64_t lo, int64_t hi) {
  int64_t before = INT64_MAX, priority = 0;
  for (int64_t row = lo; row < hi; ++row, before = priority) {
    const sidbeam_status status = sidbeam_index_item_priority(index, row, &priority, nullptr);
    if (status == SIDBEAM_MISSING_SECTION) return;
    FUZZ_CHECK(status == SIDBEAM_OK && priority <= before);
  }
}

void check_items(const sidbeam_index* index, const sidbeam_index_info& info) {
  int64_t next = 0, collisions = 0, most = 0;
  for (int64_t ordinal = 0; ordinal < info.sids; ++ordinal) {
    int64_t lo = -1, hi = -1;
    FUZZ_CHECK(sidbeam_index_item_rows(index, ordinal, &lo, &hi, nullptr) == SIDBEAM_OK);
    FUZZ_CHECK(lo == next && hi > lo);
    next = hi;
    collisions += hi - lo > 1;
    most = std::max(most, hi - lo);
    check_priorities(index, lo, hi);
    for (int64_t row = lo; row < hi; ++row) {
      int64_t id = 0, bytes = 0, found = -1, owner = -1;
      const char* name = nullptr;
      FUZZ_CHECK(sidbeam_index_item_ordinal(index, row, &owner, nullptr) == SIDBEAM_OK && owner == ordinal);
      FUZZ_CHECK(sidbeam_index_item_id(index, row, &id, &name, &bytes, nullptr) == SIDBEAM_OK);
      FUZZ_CHECK(sidbeam_index_find_item(index, id, name, bytes, row, &found, nullptr) == SIDBEAM_OK);
      FUZZ_CHECK(found == row);
    }
  }
  FUZZ_CHECK(next == info.items && collisions == info.collisions && most == info.max_items_per_sid);
}

struct Result {
  std::vector<int64_t> ordinals;
  std::vector<float> scores;
  bool operator==(const Result&) const = default;
};

// A search over the same row at every level, to its end.
Result search(sidbeam_session* session, const std::vector<float>& row, int32_t levels) {
  sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  start.count = 1;
  FUZZ_CHECK(sidbeam_session_start(session, &start, nullptr) == SIDBEAM_OK);
  sidbeam_rows rows = SIDBEAM_ROWS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  FUZZ_CHECK(sidbeam_session_get_beams(session, &beams, nullptr) == SIDBEAM_OK);
  rows.data = row.data();
  rows.slots = 1;
  rows.rows = beams.beams;
  rows.row_stride = SIDBEAM_BROADCAST;
  rows.columns = static_cast<int64_t>(row.size());
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  step.rows = &rows;
  for (int32_t l = 0; l < levels && beams.active[0] > 0; ++l)
    FUZZ_CHECK(sidbeam_session_step(session, &step, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(beams.active[0] == 0 && beams.errors[0] == 0);
  Result result;
  result.ordinals.resize(static_cast<size_t>(beams.beams));
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.ordinals = result.ordinals.data();
  FUZZ_CHECK(sidbeam_session_get_items(session, nullptr, 1, &items, nullptr) == SIDBEAM_OK);
  result.ordinals.resize(static_cast<size_t>(beams.live[0]));
  result.scores.assign(beams.scores, beams.scores + beams.live[0]);
  return result;
}

void check_searches(sidbeam_index* index, const sidbeam_index_info& info, Random& random) {
  const int64_t columns = *std::max_element(info.codes, info.codes + info.levels) + 1;
  if (columns > 4096) return;
  const Handle<sidbeam_constraint> constraint = constraint_of(index);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = info.levels;
  vocabulary.end_column = columns - 1;
  std::vector<float> row(static_cast<size_t>(columns));
  for (float& x : row) x = -static_cast<float>(random.below(64)) / 8;
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  config.beams = static_cast<int32_t>(1 + random.below(12));
  config.normalization = static_cast<int32_t>(random.below(4));
  config.constraint = constraint.get();
  config.vocabulary = &vocabulary;
  std::vector<Result> exact;
  for (config.strategy = SIDBEAM_STRATEGY_TRIE; config.strategy <= SIDBEAM_STRATEGY_HASH_FINAL; ++config.strategy) {
    sidbeam_session* made = nullptr;
    if (sidbeam_session_create(runtime(), &config, &made, nullptr) != SIDBEAM_OK) continue;
    const Handle<sidbeam_session> session(made);
    const Result result = search(made, row, info.levels);
    std::set<int64_t> distinct;
    for (const int64_t ordinal : result.ordinals) {
      FUZZ_CHECK(ordinal >= 0 && ordinal < info.sids);
      FUZZ_CHECK(distinct.insert(ordinal).second);
    }
    if (config.strategy > SIDBEAM_STRATEGY_SORTED) continue;
    if (config.beams >= info.sids) FUZZ_CHECK(static_cast<int64_t>(result.ordinals.size()) == info.sids);
    exact.push_back(result);
  }
  if (exact.size() == 2) FUZZ_CHECK(exact[0] == exact[1]);
}

}  // namespace

void check_sound(sidbeam_index* index, Random& random) {
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  FUZZ_CHECK(sidbeam_index_get_info(index, &info, nullptr) == SIDBEAM_OK);
  if (info.sids > kMostSids || info.items > 8 * kMostSids) return;
  const std::vector<Sid> sids = check_sids(index, info);
  for (int i = 0; i < 16; ++i) {
    Sid prefix = random.pick(sids);
    prefix.resize(random.below(prefix.size() + 1));
    check_prefix(index, info, sids, prefix);
  }
  check_items(index, info);
  check_searches(index, info, random);
}

}  // namespace fuzz
