// A live catalogue, in memory and in a folder, beside a model of what its versions hold: additions, removals,
// publishes, rollbacks, compactions, restarts, a follower, and damage to the files in between.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "catalog/damage.h"
#include "line.h"
#include "specimens.h"
#include "tool/scratch.h"

namespace {

constexpr int kLevels = 3, kCodes = 4, kSids = 64, kIds = 40;
constexpr int64_t kKept = 4;

struct Close {
  void operator()(sidbeam_catalog* handle) const { sidbeam_catalog_close(handle); }
};
using LiveCatalogue = std::unique_ptr<sidbeam_catalog, Close>;
using Pairs = std::set<std::pair<int, int64_t>>;  // SID, id

// The bytes of an input, zeros after their end.
struct Input {
  const uint8_t *at, *end;
  uint64_t below(uint64_t count) { return at == end ? 0 : *at++ % count; }
};

// What is live in an index, by a search.
Pairs pairs_of(sidbeam_index* index) {
  static const float zeros[kCodes] = {};
  const fuzz::Handle<sidbeam_constraint> constraint = fuzz::constraint_of(index);
  sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
  sidbeam_session* made = nullptr;
  config.constraint = constraint.get();
  config.beams = kSids;
  config.normalization = SIDBEAM_NORMALIZE_NONE;
  FUZZ_CHECK(sidbeam_session_create(fuzz::runtime(), &config, &made, nullptr) == SIDBEAM_OK);
  const fuzz::Handle<sidbeam_session> session(made);
  sidbeam_rows rows = sidbeam_rows_dense(zeros, SIDBEAM_DTYPE_F32, 1, kSids, kCodes);
  rows.slot_stride = rows.row_stride = SIDBEAM_BROADCAST;
  const sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
  sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  step.rows = &rows;
  FUZZ_CHECK(sidbeam_session_start(made, &start, nullptr) == SIDBEAM_OK);
  for (int level = 0; level < kLevels; ++level) {
    FUZZ_CHECK(sidbeam_session_get_beams(made, &beams, nullptr) == SIDBEAM_OK);
    if (beams.active[0] == 0) break;
    FUZZ_CHECK(sidbeam_session_step(made, &step, nullptr) == SIDBEAM_OK);
  }
  std::vector<int32_t> sids(kSids * kLevels);
  std::vector<int64_t> found(kSids * kIds), offsets(kSids + 1);
  sidbeam_items items = SIDBEAM_ITEMS_INIT;
  items.limit = std::ssize(found);
  items.sids = sids.data();
  items.item_rows = found.data();
  items.offsets = offsets.data();
  FUZZ_CHECK(sidbeam_session_get_items(made, nullptr, 0, &items, nullptr) == SIDBEAM_OK);
  Pairs out;
  for (size_t beam = 0; beam < kSids; ++beam)
    for (int64_t i = offsets[beam]; i < offsets[beam + 1]; ++i) {
      const int32_t* sid = sids.data() + kLevels * beam;
      const char* name = nullptr;
      int64_t id = 0, bytes = 0;
      FUZZ_CHECK(sidbeam_index_item_id(index, found[static_cast<size_t>(i)], &id, &name, &bytes, nullptr) ==
                 SIDBEAM_OK);
      FUZZ_CHECK(out.insert({(sid[0] * kCodes + sid[1]) * kCodes + sid[2], id}).second);
    }
  return out;
}

class History {
 public:
  History(const std::string& folder, Input& input) : folder_(folder), input_(input) {
    fuzz::Catalogue base;
    base.codes.assign(kLevels, kCodes);
    const uint64_t count = 1 + input_.below(30);
    for (uint64_t i = 0; i < count; ++i) {
      const auto sid = static_cast<int>(input_.below(kSids));
      for (const int code : {sid / 16, sid / 4 % 4, sid % 4}) base.sids.push_back(code);
      base.lengths.push_back(kLevels);
      versions_[1].insert({sid, static_cast<int64_t>(i)});
    }
    base.attributes = input_.below(2) == 1;
    base.kinds = input_.below(2) == 1 ? SIDBEAM_KIND_COMPACT_TRIE : SIDBEAM_KIND_TRIE;
    const fuzz::Handle<sidbeam_index> index = fuzz::index_of(base);
    FUZZ_CHECK(is_ok(create(index.get(), nullptr, memory_)));
    FUZZ_CHECK(is_ok(create(index.get(), folder.c_str(), stored_)));
    FUZZ_CHECK(is_ok(follow()));
    pending_ = versions_[1];
  }

  void run() {
    while (input_.at != input_.end && stored_ != nullptr) operate();
  }

 private:
  bool is_ok(sidbeam_status status) const {
    if (status != SIDBEAM_OK) FUZZ_CHECK(fuzz::is_line(error_.message));
    return status == SIDBEAM_OK;
  }
  sidbeam_catalog_info info_of(sidbeam_catalog* catalog) {
    sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
    FUZZ_CHECK(sidbeam_catalog_get_info(catalog, &info, &error_) == SIDBEAM_OK);
    return info;
  }
  static sidbeam_catalog_config config() {
    sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
    config.keep_versions = kKept;
    config.sync = SIDBEAM_SYNC_HOST;
    return config;
  }
  sidbeam_status create(sidbeam_index* base, const char* folder, LiveCatalogue& out) {
    const sidbeam_catalog_config how = config();
    sidbeam_catalog* made = nullptr;
    const sidbeam_status status = sidbeam_catalog_create(base, folder, &how, &made, &error_);
    out.reset(made);
    return status;
  }
  sidbeam_status open(bool accept_loss) {
    sidbeam_catalog_config how = config();
    sidbeam_catalog* made = nullptr;
    how.accept_loss = accept_loss ? 1 : 0;
    stored_.reset();
    const sidbeam_status status = sidbeam_catalog_open(fuzz::runtime(), folder_.c_str(), &how, &made, &error_);
    stored_.reset(made);
    return status;
  }
  sidbeam_status follow() {
    const sidbeam_catalog_config how = config();
    sidbeam_catalog* made = nullptr;
    const sidbeam_status status = sidbeam_catalog_follow(fuzz::runtime(), folder_.c_str(), &how, &made, &error_);
    follower_.reset(made);
    return status;
  }

  // The same call of both catalogues, with the same outcome.
  template <class Call>
  bool both(const Call& call) {
    const bool done = is_ok(call(stored_.get()));
    if (memory_ != nullptr) FUZZ_CHECK(is_ok(call(memory_.get())) == done);
    return done;
  }

  void operate() {
    switch (input_.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return add();
      case 4:
      case 5:
        return remove();
      case 6:
        return go_back();
      case 7:
        FUZZ_CHECK(both([&](sidbeam_catalog* to) { return sidbeam_catalog_discard(to, &error_); }));
        return forget();
      case 8:
        return compact();
      case 9:
        FUZZ_CHECK(is_ok(open(false)));
        if (memory_ != nullptr) FUZZ_CHECK(sidbeam_catalog_discard(memory_.get(), &error_) == SIDBEAM_OK);
        forget();
        return check(stored_.get());
      case 10:
        return refresh();
      case 11:
        return damage();
      default:
        return publish();
    }
  }

  void forget() {
    pending_ = newest();
    changed_ = false;
  }
  const Pairs& newest() const { return versions_.rbegin()->second; }
  int64_t newest_number() const { return versions_.rbegin()->first; }
  int64_t oldest_number() const {
    return std::prev(versions_.end(), std::min<int64_t>(kKept, std::ssize(versions_)))->first;
  }

  void add() {
    std::vector<int32_t> codes;
    std::vector<int64_t> ids;
    const uint64_t count = input_.below(6);
    for (uint64_t i = 0; i < count; ++i) {
      const auto sid = static_cast<int>(input_.below(kSids));
      for (const int code : {sid / 16, sid / 4 % 4, sid % 4}) codes.push_back(code);
      ids.push_back(static_cast<int64_t>(input_.below(kIds)));
      if (pending_.insert({sid, ids.back()}).second) changed_ = true;
    }
    sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
    pairs.codes = codes.data();
    pairs.ids = ids.data();
    pairs.count = std::ssize(ids);
    FUZZ_CHECK(both([&](sidbeam_catalog* to) { return sidbeam_catalog_add(to, &pairs, &error_); }));
  }

  void remove() {
    std::vector<int64_t> ids;
    int64_t expected = 0;
    const uint64_t count = input_.below(5);
    for (uint64_t i = 0; i < count; ++i) ids.push_back(static_cast<int64_t>(input_.below(kIds)));
    const auto is_of = [](int64_t id) { return [id](const auto& pair) { return pair.second == id; }; };
    for (const int64_t id : ids) expected += std::none_of(pending_.begin(), pending_.end(), is_of(id)) ? 1 : 0;
    for (const int64_t id : ids)
      if (std::erase_if(pending_, is_of(id)) > 0) changed_ = true;
    sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
    list.numbers = ids.data();
    list.count = std::ssize(ids);
    FUZZ_CHECK(both([&](sidbeam_catalog* to) {
      int64_t unknown = -1;
      const sidbeam_status status = sidbeam_catalog_remove(to, &list, &unknown, &error_);
      FUZZ_CHECK(unknown == expected);
      return status;
    }));
  }

  void publish() {
    const int64_t expected = newest_number() + (changed_ ? 1 : 0);
    FUZZ_CHECK(both([&](sidbeam_catalog* to) { return made(expected, sidbeam_catalog_publish(to, &made_, &error_)); }));
    versions_[expected] = pending_;
    changed_ = false;
    check_both();
  }
  sidbeam_status made(int64_t expected, sidbeam_status status) const {
    if (status == SIDBEAM_OK) FUZZ_CHECK(made_ == expected);
    return status;
  }

  bool is_kept(int64_t version) {
    sidbeam_version_info info = SIDBEAM_VERSION_INFO_INIT;
    const bool kept = sidbeam_catalog_get_version(stored_.get(), version, &info, &error_) == SIDBEAM_OK;
    if (!lost_) FUZZ_CHECK(kept == (version >= oldest_number() && version <= newest_number()));
    return kept;
  }

  void go_back() {
    const int64_t newest = newest_number(), to = newest - static_cast<int64_t>(input_.below(6));
    const bool kept = is_kept(to);
    FUZZ_CHECK(both([&](sidbeam_catalog* catalog) {
                 return made(newest + 1, sidbeam_catalog_rollback(catalog, to, &made_, &error_));
               }) == kept);
    if (!kept) return;
    versions_[newest + 1] = pending_ = versions_[to];
    changed_ = false;
    check_both();
  }

  void compact() {
    const int64_t expected = newest_number() + 1;
    const bool done = both(
        [&](sidbeam_catalog* to) { return made(expected, sidbeam_catalog_compact(to, nullptr, &made_, &error_)); });
    FUZZ_CHECK(done == !newest().empty());
    if (!done) return;
    versions_[expected] = newest();
    changed_ = pending_ != newest();
    check_both();
  }

  void refresh() {
    int64_t version = 0;
    FUZZ_CHECK(is_ok(sidbeam_catalog_refresh(follower_.get(), 0, &version, &error_)));
    FUZZ_CHECK(version == newest_number());
    check(follower_.get());
  }

  // What opens is one of the versions, and those before it; with checksums made right anything may, or nothing.
  void damage() {
    fuzz::Random random{input_.below(256) * 256 + input_.below(256)};
    const bool repaired = input_.below(2) == 1, accept_loss = input_.below(2) == 1;
    follower_.reset();
    stored_.reset();
    memory_.reset();
    fuzz::damage_folder(folder_, random, repaired);
    (void)is_ok(follow());
    const bool followed = follower_ != nullptr;
    follower_.reset();
    if (!is_ok(open(accept_loss))) {
      FUZZ_CHECK(!followed);
      return;
    }
    FUZZ_CHECK(followed || accept_loss);
    if (repaired) return use_whatever_it_is();
    const sidbeam_catalog_info info = info_of(stored_.get());
    FUZZ_CHECK(versions_.contains(info.version));
    versions_.erase(versions_.upper_bound(info.version), versions_.end());
    lost_ = true;
    forget();
    check(stored_.get());
    FUZZ_CHECK(is_ok(follow()));
    check(follower_.get());
  }

  // Nothing but that it stays in its memory.
  void use_whatever_it_is() {
    sidbeam_index* index = nullptr;
    if (is_ok(sidbeam_catalog_snapshot(stored_.get(), 0, &index, &error_))) {
      (void)pairs_of(index);
      sidbeam_index_release(index);
    }
    add();
    (void)is_ok(sidbeam_catalog_publish(stored_.get(), &made_, &error_));
    (void)is_ok(sidbeam_catalog_compact(stored_.get(), nullptr, &made_, &error_));
    stored_.reset();
  }

  void check_both() {
    check(stored_.get());
    if (memory_ != nullptr) check(memory_.get());
  }

  // The newest version, and some other one.
  void check(sidbeam_catalog* catalog) {
    const sidbeam_catalog_info info = info_of(catalog);
    FUZZ_CHECK(info.version == newest_number());
    FUZZ_CHECK(info.items == std::ssize(newest()));
    if (catalog != follower_.get() && !lost_) FUZZ_CHECK(info.oldest_version == oldest_number());
    if (catalog != follower_.get()) FUZZ_CHECK((info.changes > 0) == changed_);
    int64_t other = std::max(info.oldest_version, info.version - static_cast<int64_t>(input_.below(4)));
    if (lost_ && !is_kept(other)) other = info.version;
    for (const int64_t version : {info.version, other}) {
      sidbeam_index* index = nullptr;
      FUZZ_CHECK(is_ok(sidbeam_catalog_snapshot(catalog, version, &index, &error_)));
      FUZZ_CHECK(pairs_of(index) == versions_[version]);
      sidbeam_index_release(index);
    }
  }

  std::string folder_;
  Input& input_;
  LiveCatalogue memory_, stored_, follower_;
  std::map<int64_t, Pairs> versions_;
  Pairs pending_;
  bool changed_ = false;
  bool lost_ = false;  // versions, with which bases may have gone that others needed
  int64_t made_ = 0;
  sidbeam_error error_ = SIDBEAM_ERROR_INIT;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::Scratch scratch("catalog");
  const std::string folder = scratch.path("folder");
  std::filesystem::remove_all(folder);
  Input input{data, data + size};
  History(folder, input).run();
  return 0;
}
