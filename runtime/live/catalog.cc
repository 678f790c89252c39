// SPDX-License-Identifier: Apache-2.0
#include "live/catalog.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <string>
#include <utility>

#include "decode/rules.h"
#include "index/build/arrow.h"
#include "index/live/gather.h"
#include "index/live/publication.h"
#include "index/rules/bits.h"
#include "index/rules/row_bits.h"
#include "support/error.h"
#include "support/folder_watch.h"

namespace sidbeam {
namespace {

using ll = long long;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// What the log takes of names and of strings of attributes, at most. Arrays that a type does not need may be anything.
int64_t text_bytes(const Attributes& known, const Catalogue::Pairs& pairs,
                   std::span<const sidbeam_attribute_column* const> attributes) {
  int64_t bytes = pairs.id_offsets != nullptr ? pairs.id_offsets[pairs.count] - pairs.id_offsets[0] : 0;
  for (const sidbeam_attribute_column* column : attributes) {
    const AttributeType type = find_attribute(known, column->name)->type;
    if (!has_dictionary(type)) continue;
    const int64_t values = type == AttributeType::kStringList ? column->lists[pairs.count] : pairs.count;
    const int64_t strings = column->codes != nullptr ? column->string_count : values;
    bytes += column->offsets[strings] - column->offsets[0] + values * int64_t{8};
  }
  return bytes;
}

void turn(Buffer<uint64_t>& bits, const std::vector<uint64_t>& rows) {
  for (const uint64_t row : rows) put_bit(bits.data(), row, !has_bit(bits.data(), row));
}

}  // namespace

LiveCatalog::LiveCatalog(Ref<sidbeam_runtime> runtime, const CatalogSettings& settings)
    : runtime_(std::move(runtime)), settings_(settings) {}

// What was published is in the file, so that only the machine's end could lose it; nobody can be told.
LiveCatalog::~LiveCatalog() {
  if (storage_ == nullptr || process_ != this_process() || settings_.sync.when == SIDBEAM_SYNC_HOST) return;
  try {
    storage_->sync();
  } catch (const Failure&) {
    return;
  }
}

std::unique_ptr<LiveCatalog> LiveCatalog::create(Ref<sidbeam_index> base, const char* folder,
                                                 const CatalogSettings& settings) {
  std::unique_ptr<LiveCatalog> catalog(new LiveCatalog(share(base->runtime), settings));
  std::list<LiveVersion> versions(1);
  LiveVersion& first = versions.front();
  first.number = 1;
  first.published_ns = now_ns();
  first.generation = catalog->generation_ = std::make_shared<Generation>(1, std::move(base));
  const PairStore& store = first.generation->store;
  first.items = static_cast<int64_t>(store.live_count());
  first.index = make_version(*first.generation, first.generation->added, store.live(), store.rows(), nullptr);
  name_index(first);
  if (folder != nullptr) {
    CatalogFolder place(catalog->runtime_->target, folder);
    place.make();
    place.lock();
    if (place.has_manifest())
      fail(SIDBEAM_INVALID_ARGUMENT, "the folder '%.300s' holds a catalogue already: open it, or name another folder",
           folder);
    auto storage = std::make_unique<CatalogStorage>(std::move(place), catalog->runtime_->target, settings.sync);
    storage->begin(*first.generation->base,
                   {1, write_publication({1, first.published_ns}, std::span<const uint64_t>())});
    catalog->storage_ = std::move(storage);
  }
  catalog->versions_.add(std::move(versions), settings.keep);
  return catalog;
}

std::unique_ptr<LiveCatalog> LiveCatalog::open(Ref<sidbeam_runtime> runtime, const char* folder,
                                               const CatalogSettings& settings) {
  std::unique_ptr<LiveCatalog> catalog(new LiveCatalog(std::move(runtime), settings));
  CatalogFolder place(catalog->runtime_->target, folder);
  if (!place.has_manifest()) fail(SIDBEAM_IO_ERROR, "cannot open '%.300s': it holds no catalogue", folder);
  place.lock();
  CatalogLoader loader(share(catalog->runtime_), place, settings.base);
  std::list<LiveVersion> versions = loader.read(place.read(), settings.accept_loss, nullptr);
  if (versions.empty()) fail(SIDBEAM_CORRUPT, "the catalogue '%.300s' has no version", folder);
  catalog->generation_ = versions.back().generation;
  const int64_t next = versions.back().number + 1;
  auto storage = std::make_unique<CatalogStorage>(std::move(place), catalog->runtime_->target, settings.sync);
  if (loader.lost().empty()) {
    storage->folder().remove_unlisted(loader.manifest());
    catalog->cut_bytes_ = storage->go_on(loader.manifest(), loader.last_log());
  } else {
    catalog->lost_ = loader.lost();
    storage->begin_log(loader.manifest(), catalog->generation_->number, {next, {}});
    storage->folder().remove_unlisted(storage->manifest());  // not before: the old manifest names what was lost
  }
  catalog->newest_generation_ = storage->manifest().newest_generation;
  catalog->storage_ = std::move(storage);
  catalog->versions_.add(std::move(versions), settings.keep);
  return catalog;
}

std::unique_ptr<LiveCatalog> LiveCatalog::follow(Ref<sidbeam_runtime> runtime, const char* folder,
                                                 const CatalogSettings& settings) {
  std::unique_ptr<LiveCatalog> catalog(new LiveCatalog(std::move(runtime), settings));
  catalog->folder_ = std::make_unique<CatalogFolder>(catalog->runtime_->target, folder);
  if (!catalog->folder_->has_manifest()) fail(SIDBEAM_IO_ERROR, "cannot open '%.300s': it holds no catalogue", folder);
  catalog->take_over();
  if (catalog->versions_.empty()) fail(SIDBEAM_CORRUPT, "the catalogue '%.300s' has no version", folder);
  return catalog;
}

void LiveCatalog::check_process() const {
  if (process_ != this_process())
    fail(SIDBEAM_BAD_STATE, "the catalogue was opened before this process was forked, expected one opened in it");
}

void LiveCatalog::check_writes() const {
  check_process();
  if (folder_ != nullptr)
    fail(SIDBEAM_BAD_STATE, "the catalogue was opened to follow it, expected one opened to write");
}

// Lets the store be changed; change() returns how many bytes of text came with that. If it throws, all is as before.
template <class Change>
void LiveCatalog::change(const Change& change) {
  const std::scoped_lock lock(writer_);
  check_writes();
  PairStore& store = generation_->store;
  const PairStore::Point before = store.point();
  const int64_t count = change_count_, text = change_text_;
  try {
    change_text_ += change(store);
    if (storage_ != nullptr && store.unsealed_bytes() + change_text_ > kMostPublicationBytes)
      fail(SIDBEAM_INVALID_ARGUMENT, "the changes since the last publish would take more than 2 GiB: publish before");
  } catch (...) {
    store.go_back(before);
    change_count_ = count;
    change_text_ = text;
    throw;
  }
}

int64_t LiveCatalog::add_counted(PairStore& store, const Catalogue::Pairs& pairs,
                                 std::span<const sidbeam_attribute_column* const> attributes) {
  if (!store.add(pairs, attributes)) return 0;
  ++change_count_;
  return text_bytes(generation_->base->index.attributes, pairs, attributes);
}

void LiveCatalog::add(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes) {
  change([&](PairStore& store) { return add_counted(store, pairs, attributes); });
}

// The stream is read without the lock: it may be slow, or wait for a thread that wants the catalogue.
int64_t LiveCatalog::add_arrow(arrow::Stream& stream, const sidbeam_arrow_config& config) {
  check_writes();
  std::shared_ptr<Generation> shape;  // the same in all generations
  {
    const std::scoped_lock lock(writer_);
    shape = generation_;
  }
  Catalogue incoming(shape->store.config(), runtime_->allocator);
  const Attributes& known = shape->base->index.attributes;
  for (const Attribute& each : known)
    incoming.attributes.declare(std::string(each.name).c_str(), static_cast<int32_t>(each.type), 0);
  const int64_t added = sidbeam::add_arrow(incoming, stream, config, shape->store.threads());
  for (const AttributeColumn& each : incoming.attributes.all())
    if (find_attribute(known, each.name) == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "column '%s' is no attribute of the catalogue: name those to take, or drop it",
           each.name.c_str());
  if (incoming.id_type != IdType::kString && !incoming.has_ids && added > 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "no column of items, expected one: items of a live catalogue have ids");
  change([&](PairStore& store) { return add_all(store, incoming); });
  return added;
}

// Some pairs at a time: gathered, they are there twice.
int64_t LiveCatalog::add_all(PairStore& store, const Catalogue& incoming) {
  constexpr int64_t kAtOnce = 1 << 16;
  int64_t text = 0;
  std::vector<uint64_t> rows;
  for (int64_t first = 0; first < incoming.rows; first += kAtOnce) {
    rows.resize(static_cast<size_t>(std::min(kAtOnce, incoming.rows - first)));
    std::iota(rows.begin(), rows.end(), static_cast<uint64_t>(first));
    const GatheredPairs pairs({nullptr, incoming}, rows, incoming.has_priorities);
    text += add_counted(store, pairs.pairs(), pairs.attributes());
  }
  return text;
}

int64_t LiveCatalog::remove(const sidbeam_item_list& items) {
  int64_t unknown = 0;
  change([&](PairStore& store) {
    const IndexView& view = generation_->base->index.view;
    check_ids(view, {items, "items"});
    std::vector<ItemId> ids(static_cast<size_t>(items.count));
    for (int64_t i = 0; i < items.count; ++i) ids[static_cast<size_t>(i)] = id_at(items, i);
    unknown = store.remove(ids);
    change_count_ += unknown < items.count ? 1 : 0;
    return 0;
  });
  return unknown;
}

void LiveCatalog::forget_changes() noexcept { change_count_ = change_text_ = 0; }

void LiveCatalog::discard() {
  const std::scoped_lock lock(writer_);
  check_writes();
  generation_->store.discard();
  forget_changes();
}

// A version that comes next, of a generation.
std::list<LiveVersion> LiveCatalog::next_version(const std::shared_ptr<Generation>& generation) const {
  std::list<LiveVersion> versions(1);
  LiveVersion& next = versions.front();
  next.published_ns = now_ns();
  versions_.for_each([&](const LiveVersion& each) {
    next.number = each.number + 1;
    next.published_ns = std::max(next.published_ns, each.published_ns);  // should the clock have been put back
  });
  next.generation = generation;
  return versions;
}

int64_t LiveCatalog::publish() {
  const std::scoped_lock lock(writer_);
  check_writes();
  int64_t newest = 0;
  const Ref<sidbeam_index> before = versions_.newest(&newest);
  if (change_count_ == 0) return newest;
  Generation& generation = *generation_;
  PairStore& store = generation.store;
  store.sort_toggled();
  const bool joins = store.added() != generation.added.pairs;
  AddedPairs joined = joins ? join_store(generation) : AddedPairs();
  std::list<LiveVersion> versions = next_version(generation_);
  LiveVersion& next = versions.front();
  next.items = static_cast<int64_t>(store.live_count());
  next.index = make_version(generation, joins ? joined : generation.added, store.live(), store.rows(), before.get());
  name_index(next);
  if (storage_ != nullptr) storage_->append(next.number, write_publication({next.number, next.published_ns}, store));
  // From here on nothing throws.
  next.toggled = store.seal();
  if (joins) generation.added = std::move(joined);
  forget_changes();
  return add_version(std::move(versions));
}

int64_t LiveCatalog::add_version(std::list<LiveVersion> versions) noexcept {
  const int64_t number = versions.back().number;
  generation_ = versions.back().generation;
  versions_.add(std::move(versions), settings_.keep);
  try {
    if (storage_ != nullptr) storage_->keep_only(kept_generations());
  } catch (...) {
    return number;  // files of generations that are not kept: they go the next time
  }
  return number;
}

std::vector<int64_t> LiveCatalog::kept_generations() const {
  std::vector<int64_t> numbers;
  versions_.for_each([&](const LiveVersion& each) { numbers.push_back(each.generation->number); });
  return numbers;
}

// The live bits of a version that is kept, as of the pairs that its generation has by now; and what is known of it.
Buffer<uint64_t> LiveCatalog::live_bits(int64_t version, std::vector<uint64_t>& toggled, LiveVersion& out) const {
  toggled = versions_.toggled_since(version, out);
  keep_odd(toggled);
  const PairStore& store = out.generation->store;
  Buffer<uint64_t> bits = zero_bits(store.rows(), runtime_->allocator);
  std::copy_n(store.live(), row_words(store.rows()), bits.data());
  turn(bits, store.toggled());  // what was not published
  turn(bits, toggled);
  return bits;
}

int64_t LiveCatalog::go_back(int64_t version) {
  const std::scoped_lock lock(writer_);
  check_writes();
  std::vector<uint64_t> toggled;
  LiveVersion to;
  const Buffer<uint64_t> bits = live_bits(version, toggled, to);
  Generation& generation = *to.generation;
  const uint64_t rows = generation.base->index.view.items + static_cast<uint64_t>(generation.added.pairs);
  std::list<LiveVersion> versions = next_version(to.generation);
  LiveVersion& next = versions.front();
  next.back_to = version;
  next.items = to.items;
  next.index = make_version(generation, generation.added, bits.data(), rows, versions_.newest().get());
  name_index(next);
  next.toggled = toggled;
  if (storage_ != nullptr) {
    const std::vector<uint8_t> payload = write_publication({next.number, next.published_ns, version}, toggled);
    if (to.generation == generation_) {
      storage_->append(next.number, payload);
    } else {
      storage_->begin_log(storage_->manifest(), generation.number, {next.number, payload});
    }
  }
  // From here on nothing throws.
  generation_->store.discard();
  generation.store.discard_and_toggle(toggled);
  forget_changes();
  return add_version(std::move(versions));
}

void LiveCatalog::sync() {
  const std::scoped_lock lock(writer_);
  check_writes();
  if (storage_ != nullptr) storage_->sync();
}

// Reads what is new in the folder; whether there was anything. A file that a manifest names may be gone by the time it
// is opened: its writer has replaced the manifest then, and the new one is read. Where it has not, the file is lost.
bool LiveCatalog::take_over() {
  constexpr int kAttempts = 100;  // a writer that compacts all the time could go on for ever
  const std::scoped_lock lock(writer_);
  Manifest manifest = folder_->read();
  for (int attempt = 1;; ++attempt) {
    try {
      return read_folder(manifest);
    } catch (const Failure& failure) {
      if (attempt == kAttempts || failure.status != SIDBEAM_IO_ERROR) throw;
      Manifest newer = folder_->read();
      if (newer == manifest) throw;
      manifest = std::move(newer);
    }
  }
}

bool LiveCatalog::read_folder(const Manifest& manifest) {
  std::unique_ptr<CatalogLoader> loader = std::move(loader_);  // null if the read fails
  const bool goes_on = loader != nullptr && loader->continues(manifest);
  if (!goes_on) loader = std::make_unique<CatalogLoader>(share(runtime_), *folder_, settings_.base);
  const Ref<sidbeam_index> newest = versions_.empty() ? Ref<sidbeam_index>() : versions_.newest();
  std::list<LiveVersion> versions = loader->read(manifest, false, newest.get());
  loader_ = std::move(loader);
  if (versions.empty()) return false;
  int64_t before = 0;
  if (!versions_.empty()) (void)versions_.newest(&before);
  const bool is_new = !goes_on || versions.back().number != before;
  generation_ = versions.back().generation;
  VersionList all;
  if (goes_on) {
    versions_.add(std::move(versions), settings_.keep);
  } else {
    all.add(std::move(versions), settings_.keep);
    versions_.swap(all);
  }
  return is_new;
}

int64_t LiveCatalog::refresh(int64_t wait_ms) {
  constexpr int64_t kLookMs = 1000;
  check_process();
  if (folder_ == nullptr)
    fail(SIDBEAM_BAD_STATE, "the catalogue was opened to write it, expected one opened to follow");
  const auto clock = [] { return std::chrono::steady_clock::now(); };
  const auto until = clock() + std::chrono::milliseconds(std::min(wait_ms, int64_t{1} << 40));
  std::unique_ptr<FolderWatch> watch;
  if (wait_ms > 0) watch = std::make_unique<FolderWatch>(folder_->path());
  while (!take_over()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock()).count();
    if (wait_ms <= 0 || left <= 0) break;
    watch->wait(std::min<int64_t>(left, kLookMs));
  }
  int64_t newest = 0;
  (void)versions_.newest(&newest);
  return newest;
}

Ref<sidbeam_index> LiveCatalog::find(int64_t version) const {
  check_process();
  if (version == 0) return versions_.newest();
  if (Ref<sidbeam_index> index = versions_.find(version)) return index;
  const std::scoped_lock lock(writer_);
  if (Ref<sidbeam_index> index = versions_.find(version)) return index;
  if (folder_ != nullptr && loader_ == nullptr)
    fail(SIDBEAM_BAD_STATE, "the catalogue could not be read when it was refreshed, expected that done again before");
  std::vector<uint64_t> toggled;
  LiveVersion of;
  const Buffer<uint64_t> bits = live_bits(version, toggled, of);
  const Generation& generation = *of.generation;
  const uint64_t rows = generation.base->index.view.items + static_cast<uint64_t>(generation.added.pairs);
  of.index = make_version(generation, generation.added, bits.data(), rows, versions_.newest().get());
  name_index(of);
  versions_.set_index(version, of.index);
  return std::move(of.index);
}

}  // namespace sidbeam
