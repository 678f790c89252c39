// Live catalogues, in memory and in a folder: made, changed, published, gone back, compacted, opened and followed in
// any order. Their versions are indexes for all other calls.
// SPDX-License-Identifier: Apache-2.0
#include "catalogs.h"

#include <algorithm>
#include <optional>

#include "attributes.h"
#include "builders.h"
#include "index_facts.h"
#include "operations.h"
#include "pairs.h"

namespace fuzz::abi {
namespace {

constexpr size_t kMostCatalogs = 3;

sidbeam_catalog_config draw_config(World& world) {
  sidbeam_catalog_config config = SIDBEAM_CATALOG_CONFIG_INIT;
  // Seldom to the disk: it is slow.
  config.sync = world.one_in(16) ? world.in(0, 1) : SIDBEAM_SYNC_HOST;
  config.keep_versions = world.in(0, 3);
  if (world.one_in(8)) config.keep_ms = world.in(1, 1000000);
  config.residency = world.flip() ? SIDBEAM_RESIDENCY_MAP : SIDBEAM_RESIDENCY_COPY;
  config.verify = world.in(0, 2);
  config.accept_loss = world.in(0, 1);
  const int32_t fault = world.fault(5);
  if (fault == 1) config.sync = world.flip() ? -1 : 3;
  if (fault == 2) config.sync_interval_ms = -1;
  if (fault == 3) config.keep_versions = world.flip() ? -1 : INT64_MIN;
  if (fault == 4) config.keep_ms = -1;
  if (fault == 5) config.verify = 3;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  return config;
}

sidbeam_catalog_info info_of(const World::Catalog& catalog) {
  sidbeam_catalog_info info = SIDBEAM_CATALOG_INFO_INIT;
  FUZZ_CHECK(ABI(catalog_get_info)(catalog.handle, &info, nullptr) == SIDBEAM_OK);
  FUZZ_CHECK(info.version >= info.oldest_version && info.oldest_version >= 1 && info.generation >= 1);
  FUZZ_CHECK(info.items >= 0 && info.items <= info.base_items + info.added && info.sids >= 0);
  FUZZ_CHECK(info.removed == info.base_items + info.added - info.items);
  FUZZ_CHECK(info.follows == (catalog.follows ? 1 : 0) && info.log_failed == 0 && info.memory_bytes >= 0);
  return info;
}

// What is left of a folder that was to be made, and failed, may be a catalogue.
void keep_catalog(World& world, sidbeam_catalog* handle, bool in_folder, bool follows) {
  World::Catalog catalog{handle, nullptr, in_folder, follows, 1};
  sidbeam_index* index = nullptr;
  if (ABI(catalog_snapshot)(handle, 0, &index, nullptr) != SIDBEAM_OK) return ABI(catalog_close)(handle);
  catalog.facts = facts_of(index);
  ABI(index_release)(index);
  catalog.newest = info_of(catalog).version;
  FUZZ_CHECK(catalog.facts->version == catalog.newest);
  world.catalogs.push_back(std::move(catalog));
}

std::vector<World::Catalog>::iterator find_writer(World& world) {
  return std::find_if(world.catalogs.begin(), world.catalogs.end(),
                      [](const World::Catalog& each) { return each.in_folder && !each.follows; });
}
bool has_writer(World& world) { return find_writer(world) != world.catalogs.end(); }

void close(World& world, World::Catalog& closed) {
  ABI(catalog_close)(closed.handle);
  std::swap(closed, world.catalogs.back());
  world.catalogs.pop_back();
}

void create(World& world, bool in_folder) {
  if (world.indexes.empty() || world.catalogs.size() >= kMostCatalogs) return;
  const Held<sidbeam_index>& base = world.any(world.indexes);
  const int32_t fault = world.fault(3);
  const std::string folder = fault == 3 ? world.folder() + "/none/none" : world.catalog_folder();
  const sidbeam_catalog_config chosen = draw_config(world);
  const In<sidbeam_catalog_config> config(world, chosen);
  world.expected.fails_if(fault == 1 || fault == 2 || base.facts->version != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if((base.facts->kinds & SIDBEAM_KIND_TRIE) == 0, SIDBEAM_MISSING_SECTION);
  if (in_folder || fault == 3) {
    world.expected.fails_if(fault == 3, SIDBEAM_IO_ERROR);
    world.expected.fails_if(has_writer(world), SIDBEAM_BAD_STATE);
    world.expected.fails_if(world.stored == World::kStored, SIDBEAM_INVALID_ARGUMENT);
    if (world.stored == World::kUnknown) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  }
  Out<sidbeam_catalog*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_create)(fault == 1 ? nullptr : base.handle, in_folder || fault == 3 ? folder.c_str() : nullptr,
                               config.get(), fault == 2 ? nullptr : out.get(), err);
  });
  if (in_folder && fault == 0 && world.stored != World::kStored)
    world.stored = status == SIDBEAM_OK ? World::kStored : World::kUnknown;
  if (status == SIDBEAM_OK) keep_catalog(world, *out, in_folder, false);
}

void create(World& world) { create(world, world.one_in(4)); }

// To write it or to follow it.
void open(World& world, bool follows) {
  if (world.stored == World::kNone && !world.one_in(8)) create(world, true);
  if (!follows && has_writer(world) && !world.one_in(4)) close(world, *find_writer(world));
  if (world.runtimes.empty() || world.catalogs.size() >= kMostCatalogs) return;
  const int32_t fault = world.fault(4);
  const std::string folder = fault == 4 ? world.folder() + "/none" : world.catalog_folder();
  const sidbeam_catalog_config chosen = draw_config(world);
  const In<sidbeam_catalog_config> config(world, chosen);
  world.expected.fails_if(fault > 0 && fault < 4, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(fault == 4 || world.stored == World::kNone, SIDBEAM_IO_ERROR);
  if (world.stored == World::kUnknown) world.expected.may_fail(SIDBEAM_IO_ERROR);
  world.expected.fails_if(!follows && has_writer(world), SIDBEAM_BAD_STATE);
  sidbeam_runtime* runtime = fault == 1 ? nullptr : world.any(world.runtimes);
  const char* path = fault == 2 ? nullptr : folder.c_str();
  Out<sidbeam_catalog*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    sidbeam_catalog** made = fault == 3 ? nullptr : out.get();
    return follows ? ABI(catalog_follow)(runtime, path, config.get(), made, err)
                   : ABI(catalog_open)(runtime, path, config.get(), made, err);
  });
  if (status != SIDBEAM_OK) return;
  world.stored = World::kStored;
  keep_catalog(world, *out, true, follows);
}

void open(World& world) { open(world, world.flip()); }

// Of a follower, mostly.
void refresh(World& world) {
  const auto follows = [](const World::Catalog& each) { return each.follows; };
  auto found = std::find_if(world.catalogs.begin(), world.catalogs.end(), follows);
  if (found == world.catalogs.end() && !world.one_in(8)) open(world, true);
  if (world.catalogs.empty()) return;
  found = std::find_if(world.catalogs.begin(), world.catalogs.end(), follows);
  World::Catalog& catalog = found == world.catalogs.end() ? world.catalogs.front() : *found;
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(!catalog.follows, SIDBEAM_BAD_STATE);
  Out<int64_t> version(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_refresh)(fault == 1 ? nullptr : catalog.handle, fault == 2 ? -1 : 0, version.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(*version >= catalog.newest && info_of(catalog).version == *version);
  catalog.newest = *version;
}

// Columns of a call, which may name attributes that the catalogue does not have, or one twice.
class Columns {
 public:
  Columns(World& world, int64_t rows) {
    for (int32_t count = world.flip() ? 0 : world.in(1, 3); count > 0; --count) {
      drawn_.push_back(draw_column(world, world.in(0, kAttributes - 1), rows));
      arguments_.emplace_back(world, drawn_.back().column);
      pointers_.push_back(arguments_.back().get());
    }
  }
  void set(sidbeam_pairs& pairs) const {
    pairs.attributes = pointers_.data();
    pairs.attribute_count = std::ssize(pointers_);
  }

 private:
  std::vector<Column> drawn_;
  std::vector<In<sidbeam_attribute_column>> arguments_;
  std::vector<const sidbeam_attribute_column*> pointers_;
};

void add(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(7);
  const Shape shape = shape_of(*catalog.facts);
  const bool named = (shape.id_type == SIDBEAM_ID_STRING) != (fault == 3);
  const Pairs drawn = draw_pairs(world, shape, !named, fault);
  const Names names = draw_names(world, drawn.count);
  const Columns columns(world, drawn.count);
  sidbeam_pairs pairs = SIDBEAM_PAIRS_INIT;
  pairs.codes = fault == 4 ? nullptr : drawn.codes.get();
  pairs.lengths = drawn.lengths.get();
  pairs.count = fault == 5 ? -1 : drawn.count;
  pairs.ids = drawn.ids.get();
  if (named) pairs.id_bytes = names.bytes.get(), pairs.id_offsets = names.offsets.get();
  pairs.priorities = drawn.priorities.get();
  columns.set(pairs);
  if (fault == 6) pairs.attribute_count = -1;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (pairs.attribute_count != 0) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(catalog.follows, SIDBEAM_BAD_STATE);
  const In<sidbeam_pairs> argument(world, pairs);
  world.attempt(
      [&](sidbeam_error* err) { return ABI(catalog_add)(fault == 7 ? nullptr : catalog.handle, argument.get(), err); });
}

void remove(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(6);
  const DrawnItems items = draw_items(world, *catalog.facts, fault > 4 ? 0 : fault);
  const In<sidbeam_item_list> argument(world, items.list);
  world.expected.fails_if(fault > 4 || items.list.by == SIDBEAM_ITEMS_BY_ROW, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(catalog.follows, SIDBEAM_BAD_STATE);
  Out<int64_t> unknown(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_remove)(fault == 5 ? nullptr : catalog.handle, fault == 6 ? nullptr : argument.get(),
                               unknown.get(), err);
  });
  if (status == SIDBEAM_OK) FUZZ_CHECK(*unknown >= 0 && *unknown <= items.list.count);
}

// A version was made or not: what the info says must agree.
void note_version(World::Catalog& catalog, sidbeam_status status, int64_t version, bool is_new) {
  const sidbeam_catalog_info info = info_of(catalog);
  if (status != SIDBEAM_OK) {
    FUZZ_CHECK(info.version == catalog.newest);
    return;
  }
  FUZZ_CHECK(info.version == version && version <= catalog.newest + 1);
  FUZZ_CHECK(version == catalog.newest + 1 || !is_new);
  FUZZ_CHECK(!is_new || info.log_bytes > 0 || !catalog.in_folder);
  catalog.newest = version;
}

void publish(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(1);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(catalog.follows, SIDBEAM_BAD_STATE);
  const bool changed = info_of(catalog).changes > 0;
  Out<int64_t> version(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_publish)(fault == 1 ? nullptr : catalog.handle, version.get(), err);
  });
  if (status == SIDBEAM_OK) FUZZ_CHECK(*version == catalog.newest + (changed ? 1 : 0));
  note_version(catalog, status, *version, changed);
}

// One that is kept, mostly. (0 is none, except where it asks for the newest.)
int64_t draw_version(World& world, const World::Catalog& catalog) {
  const int64_t version = world.one_in(8) ? world.strange() : std::max<int64_t>(catalog.newest - world.in(0, 3), 1);
  const sidbeam_catalog_info info = info_of(catalog);
  const bool kept = version >= info.oldest_version && version <= info.version;
  world.expected.fails_if(!kept, SIDBEAM_INVALID_ARGUMENT);
  return version;
}

void go_back(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(1);
  const int64_t to = draw_version(world, catalog);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(catalog.follows, SIDBEAM_BAD_STATE);
  Out<int64_t> made(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_rollback)(fault == 1 ? nullptr : catalog.handle, to, made.get(), err);
  });
  note_version(catalog, status, *made, true);
}

void compact(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(4);
  const auto progress = std::make_unique<Progress>();
  if (world.one_in(4)) progress->calls_left = world.in(0, 6);
  sidbeam_compact_config chosen = SIDBEAM_COMPACT_CONFIG_INIT;
  chosen.threads = fault == 1 ? (world.flip() ? -1 : 1025) : world.in(0, 2);
  chosen.memory_limit_bytes = fault == 2 ? -1 : world.one_in(8) ? world.in(1, 100000) : 0;
  chosen.bytes_per_second = fault == 3 ? -1 : world.one_in(8) ? 1 << 30 : 0;
  chosen.progress = check_progress;
  chosen.progress_context = progress.get();
  world.expected.fails_if(fault != 0 || info_of(catalog).items == 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(catalog.follows, SIDBEAM_BAD_STATE);
  if (chosen.memory_limit_bytes > 0) world.expected.may_fail(SIDBEAM_OUT_OF_MEMORY);
  if (progress->calls_left >= 0) world.expected.may_fail(SIDBEAM_CANCELLED);
  const In<sidbeam_compact_config> config(world, chosen);
  Out<int64_t> version(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_compact)(fault == 4 ? nullptr : catalog.handle, config.get(), version.get(), err);
  });
  FUZZ_CHECK(status != SIDBEAM_OK || !progress->cancelled);
  note_version(catalog, status, *version, true);
}

void discard_or_sync(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(1);
  const bool discards = world.flip();
  sidbeam_catalog* handle = fault == 1 ? nullptr : catalog.handle;
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  world.expected.fails_if(catalog.follows, SIDBEAM_BAD_STATE);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return discards ? ABI(catalog_discard)(handle, err) : ABI(catalog_sync)(handle, err);
  });
  if (status != SIDBEAM_OK) return;
  const sidbeam_catalog_info info = info_of(catalog);
  FUZZ_CHECK(discards ? info.changes == 0 : info.unsynced_bytes == 0);
}

void snapshot(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(2);
  const int64_t version = world.flip() ? 0 : draw_version(world, catalog);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  Out<sidbeam_index*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_snapshot)(fault == 1 ? nullptr : catalog.handle, version, fault == 2 ? nullptr : out.get(), err);
  });
  if (status != SIDBEAM_OK) return;
  const Facts facts = facts_of(*out);
  FUZZ_CHECK(facts->version == (version == 0 ? catalog.newest : version));
  FUZZ_CHECK(facts->levels == catalog.facts->levels && facts->id_type == catalog.facts->id_type);
  FUZZ_CHECK(facts->live_items >= 0 && facts->live_items <= facts->items);
  keep_index(world, *out);
}

void describe_version(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(2);
  const int64_t version = draw_version(world, catalog);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_version_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_get_version)(fault == 1 ? nullptr : catalog.handle, version, fault == 2 ? nullptr : out.get(),
                                    err);
  });
  if (status != SIDBEAM_OK) return;
  FUZZ_CHECK(out->version == version && out->items >= 0 && out->changed >= 0 && out->bytes >= 0);
  FUZZ_CHECK(out->back_to >= 0 && out->back_to < version);
}

void describe(World& world, World::Catalog& catalog) {
  const int32_t fault = world.fault(2);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  OutStruct<sidbeam_catalog_info> out(world);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(catalog_get_info)(fault == 1 ? nullptr : catalog.handle, fault == 2 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) FUZZ_CHECK(out->version == catalog.newest && out->oldest_version <= out->version);
  describe_version(world, catalog);
}

void close(World& world) {
  if (world.one_in(4)) ABI(catalog_close)(nullptr);
  if (!world.catalogs.empty()) close(world, world.any(world.catalogs));
}

// A filter for another version, or for another index.
void move_filter(World& world) {
  if (world.filters.empty() || world.indexes.empty()) return;
  const World::Filter filter = world.any(world.filters);
  const Held<sidbeam_index>& index = world.any(world.indexes);
  const int32_t fault = world.fault(3);
  world.expected.fails_if(fault != 0, SIDBEAM_INVALID_ARGUMENT);
  if (filter.index != index.handle) world.expected.may_fail(SIDBEAM_INVALID_ARGUMENT);
  Out<sidbeam_filter*> out(world, 1);
  const sidbeam_status status = world.attempt([&](sidbeam_error* err) {
    return ABI(filter_on)(fault == 1 ? nullptr : filter.handle, fault == 2 ? nullptr : index.handle,
                          fault == 3 ? nullptr : out.get(), err);
  });
  if (status == SIDBEAM_OK) keep_filter(world, {*out, index.facts, index.handle, filter.has_text});
}

// Of one of the catalogues.
template <void (*operation)(World& world, World::Catalog& catalog)>
void on_any(World& world) {
  if (world.catalogs.empty()) create(world);
  if (!world.catalogs.empty()) operation(world, world.any(world.catalogs));
}

}  // namespace

std::span<const Operation> catalog_operations() {
  static constexpr Operation kAll[] = {create,
                                       open,
                                       refresh,
                                       refresh,
                                       on_any<add>,
                                       on_any<add>,
                                       on_any<add>,
                                       on_any<add_arrow_to_catalog>,
                                       on_any<remove>,
                                       on_any<remove>,
                                       on_any<publish>,
                                       on_any<publish>,
                                       on_any<go_back>,
                                       on_any<compact>,
                                       on_any<discard_or_sync>,
                                       on_any<snapshot>,
                                       on_any<snapshot>,
                                       on_any<snapshot>,
                                       on_any<describe>,
                                       move_filter,
                                       move_filter,
                                       close};
  return kAll;
}

}  // namespace fuzz::abi
