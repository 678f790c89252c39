// SPDX-License-Identifier: Apache-2.0
#include "writers.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "index_tables.h"

namespace bench::soak {
namespace {

using std::chrono::milliseconds, std::chrono::steady_clock;

constexpr int kTicks = 10, kPerTick = 20;  // a second; pairs that are added, and items that are removed
constexpr int kSecondsToRollback = 45;

}  // namespace

// A SID like one that is there, or one that is there; an item that is new, has others, or comes back.
Pair Writer::new_pair() {
  const Pair& like = live_[random_() % live_.size()];
  if (!gone_.empty() && random_() % 8 == 0) return gone_[random_() % gone_.size()];
  const uint32_t mask = random_() % 8 == 0 ? 0 : ~0U >> 8 * (random_() % kLevels);
  const uint32_t sid = (like.sid & ~mask) | (static_cast<uint32_t>(random_()) & mask);
  return {sid, random_() % 8 == 0 ? live_[random_() % live_.size()].id : next_id_++};
}

void Writer::add_some() {
  std::vector<int32_t> codes;
  std::vector<int64_t> ids;
  for (int i = 0; i < kPerTick; ++i) {
    const Pair pair = new_pair();
    for (int32_t level = 0; level < kLevels; ++level)
      codes.push_back(static_cast<int32_t>(pair.sid >> 8 * (kLevels - 1 - level) & 255));
    ids.push_back(pair.id);
    add(live_, pair);
  }
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = codes.data();
  pairs.ids = ids.data();
  pairs.count = kPerTick;
  call("catalog_add", sidbeam_catalog_add, shared_.catalog, &pairs);
  added += kPerTick;
}

void Writer::remove_some() {
  std::vector<int64_t> ids;
  for (int i = 0; i < kPerTick; ++i) {
    const Pair pair = live_[random_() % live_.size()];
    remove(live_, pair.id);
    ids.push_back(pair.id);
    if (gone_.size() < 1000)
      gone_.push_back(pair);
    else
      gone_[random_() % gone_.size()] = pair;
  }
  int64_t unknown = 0;
  const sidbeam_item_list list = list_of(ids, SIDBEAM_ITEMS_BY_ID);
  call("catalog_remove", sidbeam_catalog_remove, shared_.catalog, &list, &unknown);
  if (unknown != 0) throw std::runtime_error("items that are live are unknown to the catalogue");
  removed += kPerTick;
}

void Writer::publish() {
  int64_t version = 0;
  publish_ms.push_back(
      seconds_of([&] { call("catalog_publish", sidbeam_catalog_publish, shared_.catalog, &version); }) * 1e3);
  shared_.history.tell(version, std::make_shared<const LiveSet>(live_));
}

// Some versions, perhaps to another generation.
void Writer::go_back() {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  call("catalog_get_info", sidbeam_catalog_get_info, shared_.catalog, &info);
  const int64_t to = std::max(info.version - 5, info.oldest_version + 2);  // a compaction may make one meanwhile
  int64_t made = 0;
  call("catalog_rollback", sidbeam_catalog_rollback, shared_.catalog, to, &made);
  const Content content = shared_.history.of(to);
  live_ = *content;
  shared_.history.tell(made, content);
  ++rollbacks;
}

void Writer::run() {
  auto next = steady_clock::now();
  for (int tick = 1; !shared_.over; ++tick) {
    add_some();
    remove_some();
    if (tick % (kTicks * kSecondsToRollback) == 0) {
      go_back();
    } else if (tick % kTicks == 0) {
      publish();
    }
    next += milliseconds(1000 / kTicks);
    std::this_thread::sleep_until(next);
  }
}

void Compactor::compact() {
  sidbeam_compact_config config = SIDBEAM_COMPACT_CONFIG_INIT;
  config.threads = 1;
  config.bytes_per_second = 2 << 20;  // so that publishes come meanwhile
  sidbeam_error err = SIDBEAM_ERROR_INIT;
  sidbeam_status status = SIDBEAM_OK;
  int64_t version = 0;
  const double seconds =
      seconds_of([&] { status = sidbeam_catalog_compact(shared_.catalog, &config, &version, &err); });
  if (status == SIDBEAM_BAD_STATE) {
    ++given_up;
    return;
  }
  if (status != SIDBEAM_OK) throw std::runtime_error(std::string("catalog_compact: ") + err.message);
  took_ms.push_back(seconds * 1e3);
  shared_.history.tell(version, shared_.history.of(version - 1));
}

void Compactor::run() {
  while (!shared_.over) {
    sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
    call("catalog_get_info", sidbeam_catalog_get_info, shared_.catalog, &info);
    if (info.compact_soon != 0) compact();
    std::this_thread::sleep_for(milliseconds(500));
  }
}

}  // namespace bench::soak
