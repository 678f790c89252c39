// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/catalog.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "capi/guard.h"
#include "capi/log.h"
#include "index/attributes/shape.h"
#include "index/read/open.h"
#include "live/catalog.h"

using namespace sidbeam;
using namespace sidbeam::capi;

struct sidbeam_catalog {
  std::unique_ptr<LiveCatalog> catalog;
};

namespace {

using ll = long long;

void check_count(int64_t value, const char* name) {
  if (value < 0) fail(SIDBEAM_INVALID_ARGUMENT, "config.%s is %lld, expected at least 0", name, static_cast<ll>(value));
}

CatalogSettings read_settings(const sidbeam_catalog_config* given) {
  constexpr int64_t kMs = 1000000;
  constexpr int64_t kMostMs = INT64_MAX / kMs;
  const sidbeam_catalog_config defaults = SIDBEAM_CATALOG_CONFIG_INIT;
  const sidbeam_catalog_config config = read_struct(given != nullptr ? given : &defaults, "config");
  if (config.sync < SIDBEAM_SYNC_PUBLISH || config.sync > SIDBEAM_SYNC_HOST)
    fail(SIDBEAM_INVALID_ARGUMENT, "config.sync is %d, expected SIDBEAM_SYNC_PUBLISH, INTERVAL or HOST", config.sync);
  check_count(config.sync_interval_ms, "sync_interval_ms");
  check_count(config.keep_versions, "keep_versions");
  check_count(config.keep_ms, "keep_ms");
  check_open_config(config.residency, config.verify);
  CatalogSettings settings;
  settings.sync = {config.sync, std::min(config.sync_interval_ms, kMostMs) * kMs};
  if (config.keep_versions > 0) settings.keep.versions = config.keep_versions;
  settings.keep.age_ns = std::min(config.keep_ms, kMostMs) * kMs;
  settings.base = {config.residency, config.verify};
  settings.accept_loss = config.accept_loss != 0;
  return settings;
}

Catalogue::Pairs read_pairs(const sidbeam_pairs& given, std::vector<sidbeam_attribute_column>& columns) {
  Catalogue::Pairs pairs;
  pairs.codes = given.codes;
  pairs.lengths = given.lengths;
  pairs.count = given.count;
  pairs.ids = given.ids;
  pairs.id_bytes = given.id_bytes;
  pairs.id_offsets = given.id_offsets;
  pairs.priorities = given.priorities;
  if (given.attribute_count < 0 || given.attribute_count > static_cast<int64_t>(kMaxAttributes))
    fail(SIDBEAM_INVALID_ARGUMENT, "pairs has %lld attributes, expected 0 to %zu",
         static_cast<ll>(given.attribute_count), kMaxAttributes);
  if (given.attribute_count > 0) require(given.attributes, "pairs.attributes");
  for (int64_t i = 0; i < given.attribute_count; ++i) {
    columns.push_back(read_struct(given.attributes[i], "pairs.attributes"));
    require(columns.back().name, "pairs.attributes' name");
  }
  return pairs;
}

LiveCatalog& of(sidbeam_catalog* catalog) {
  require(catalog, "catalog");
  return *catalog->catalog;
}

void report_opening(const LiveCatalog& catalog, const char* folder) {
  const sidbeam_catalog_info info = catalog.info();
  if (info.cut_bytes > 0)
    log(catalog.runtime(), SIDBEAM_LOG_WARNING, "catalogue '%s': cut off %lld bytes of a record that was never whole",
        folder, static_cast<ll>(info.cut_bytes));
  if (!catalog.lost().empty())
    log(catalog.runtime(), SIDBEAM_LOG_WARNING,
        "catalogue '%s': what was published after version %lld is given up, since '%s' is damaged", folder,
        static_cast<ll>(info.version), catalog.lost().c_str());
  log(catalog.runtime(), SIDBEAM_LOG_INFO, "opened catalogue '%s': version %lld, %lld items", folder,
      static_cast<ll>(info.version), static_cast<ll>(info.items));
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_catalog_create(sidbeam_index* base, const char* folder, const sidbeam_catalog_config* config,
                                      sidbeam_catalog** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(base, "base");
    require(out, "out");
    const CatalogSettings settings = read_settings(config);
    *out = new sidbeam_catalog{LiveCatalog::create(Ref<sidbeam_index>::share(base), folder, settings)};
  });
}

sidbeam_status sidbeam_catalog_open(sidbeam_runtime* runtime, const char* folder, const sidbeam_catalog_config* config,
                                    sidbeam_catalog** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(folder, "folder");
    require(out, "out");
    auto made = std::make_unique<sidbeam_catalog>();
    made->catalog = LiveCatalog::open(Ref<sidbeam_runtime>::share(runtime), folder, read_settings(config));
    report_opening(*made->catalog, folder);
    *out = made.release();
  });
}

sidbeam_status sidbeam_catalog_follow(sidbeam_runtime* runtime, const char* folder,
                                      const sidbeam_catalog_config* config, sidbeam_catalog** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(folder, "folder");
    require(out, "out");
    auto made = std::make_unique<sidbeam_catalog>();
    made->catalog = LiveCatalog::follow(Ref<sidbeam_runtime>::share(runtime), folder, read_settings(config));
    report_opening(*made->catalog, folder);
    *out = made.release();
  });
}

sidbeam_status sidbeam_catalog_refresh(sidbeam_catalog* catalog, int64_t wait_ms, int64_t* version,
                                       sidbeam_error* err) {
  return guarded(err, [&] {
    LiveCatalog& live = of(catalog);
    if (wait_ms < 0) fail(SIDBEAM_INVALID_ARGUMENT, "wait_ms is %lld, expected at least 0", static_cast<ll>(wait_ms));
    const int64_t newest = live.refresh(wait_ms);
    if (version != nullptr) *version = newest;
  });
}

sidbeam_status sidbeam_catalog_add(sidbeam_catalog* catalog, const sidbeam_pairs* pairs, sidbeam_error* err) {
  return guarded(err, [&] {
    LiveCatalog& live = of(catalog);
    std::vector<sidbeam_attribute_column> columns;
    const Catalogue::Pairs read = read_pairs(read_struct(pairs, "pairs"), columns);
    std::vector<const sidbeam_attribute_column*> attributes;
    for (const sidbeam_attribute_column& column : columns) attributes.push_back(&column);
    live.add(read, attributes);
  });
}

sidbeam_status sidbeam_catalog_add_arrow(sidbeam_catalog* catalog, ArrowArrayStream* stream,
                                         const sidbeam_arrow_config* config, int64_t* pairs, sidbeam_error* err) {
  return guarded(err, [&] {
    arrow::Stream taken(stream);
    const sidbeam_arrow_config defaults = SIDBEAM_ARROW_CONFIG_INIT;
    const int64_t added = of(catalog).add_arrow(taken, read_struct(config != nullptr ? config : &defaults, "config"));
    if (pairs != nullptr) *pairs = added;
  });
}

sidbeam_status sidbeam_catalog_remove(sidbeam_catalog* catalog, const sidbeam_item_list* items, int64_t* unknown,
                                      sidbeam_error* err) {
  return guarded(err, [&] {
    const int64_t missing = of(catalog).remove(read_struct(items, "items"));
    if (unknown != nullptr) *unknown = missing;
  });
}

sidbeam_status sidbeam_catalog_discard(sidbeam_catalog* catalog, sidbeam_error* err) {
  return guarded(err, [&] { of(catalog).discard(); });
}

sidbeam_status sidbeam_catalog_publish(sidbeam_catalog* catalog, int64_t* version, sidbeam_error* err) {
  return guarded(err, [&] {
    const int64_t made = of(catalog).publish();
    if (version != nullptr) *version = made;
  });
}

sidbeam_status sidbeam_catalog_rollback(sidbeam_catalog* catalog, int64_t version, int64_t* made, sidbeam_error* err) {
  return guarded(err, [&] {
    const int64_t next = of(catalog).go_back(version);
    if (made != nullptr) *made = next;
  });
}

sidbeam_status sidbeam_catalog_compact(sidbeam_catalog* catalog, const sidbeam_compact_config* config, int64_t* version,
                                       sidbeam_error* err) {
  return guarded(err, [&] {
    const sidbeam_compact_config defaults = SIDBEAM_COMPACT_CONFIG_INIT;
    const sidbeam_compact_config read = read_struct(config != nullptr ? config : &defaults, "config");
    if (read.threads < 0 || read.threads > 1024)
      fail(SIDBEAM_INVALID_ARGUMENT, "config.threads is %d, expected 0..1024", read.threads);
    check_count(read.memory_limit_bytes, "memory_limit_bytes");
    check_count(read.bytes_per_second, "bytes_per_second");
    const int64_t made = of(catalog).compact(read);
    if (version != nullptr) *version = made;
  });
}

sidbeam_status sidbeam_catalog_sync(sidbeam_catalog* catalog, sidbeam_error* err) {
  return guarded(err, [&] { of(catalog).sync(); });
}

sidbeam_status sidbeam_catalog_snapshot(sidbeam_catalog* catalog, int64_t version, sidbeam_index** out,
                                        sidbeam_error* err) {
  return guarded(err, [&] {
    LiveCatalog& live = of(catalog);
    require(out, "out");
    const Ref<sidbeam_index> index = live.find(version);
    index->retain();
    *out = index.get();
  });
}

sidbeam_status sidbeam_catalog_get_info(const sidbeam_catalog* catalog, sidbeam_catalog_info* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(catalog, "catalog");
    check_output(out, "out");
    write_struct(catalog->catalog->info(), out);
  });
}

sidbeam_status sidbeam_catalog_get_version(const sidbeam_catalog* catalog, int64_t version, sidbeam_version_info* out,
                                           sidbeam_error* err) {
  return guarded(err, [&] {
    require(catalog, "catalog");
    check_output(out, "out");
    write_struct(catalog->catalog->version_info(version), out);
  });
}

void sidbeam_catalog_close(sidbeam_catalog* catalog) { delete catalog; }

}  // extern "C"
