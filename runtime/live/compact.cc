// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "index/live/publication.h"
#include "index/rules/bits.h"
#include "index/rules/row_bits.h"
#include "live/catalog.h"
#include "live/compaction.h"
#include "support/error.h"

namespace sidbeam {
namespace {

// Calls a function when it goes.
template <class Function>
struct Finally {
  Function function;
  ~Finally() { function(); }
};
template <class Function>
Finally(Function) -> Finally<Function>;  // which clang 14 does not find by itself

// The rows whose bits differ; `before` has those of `count` rows (null: all are set), `after` at least as many.
std::vector<uint64_t> changed_rows(const uint64_t* before, uint64_t count, const Buffer<uint64_t>& after,
                                   uint64_t after_count) {
  std::vector<uint64_t> rows;
  for (uint64_t w = 0; w < row_words(after_count); ++w) {
    const uint64_t known = w < row_words(count) ? row_mask(w, count) : 0;
    const uint64_t old = before != nullptr && known != 0 ? before[w] & known : known;
    for (uint64_t word = old ^ after[static_cast<int64_t>(w)]; word != 0; word &= word - 1)
      rows.push_back(w * 64 + bits_set((word & (0 - word)) - 1));
  }
  return rows;
}

}  // namespace

// The newest version is pinned and built without a lock: an index does not change, however the catalogue goes on.
int64_t LiveCatalog::compact(const sidbeam_compact_config& config) {
  std::shared_ptr<Generation> from;
  Ref<sidbeam_index> pinned;
  {
    const std::scoped_lock lock(writer_);
    check_writes();
    if (compacts_) fail(SIDBEAM_BAD_STATE, "the catalogue is being compacted already");
    if (storage_ != nullptr && storage_->failed()) storage_->sync();  // says why
    compacts_ = true;
    from = generation_;
    pinned = versions_.newest();
  }
  const Finally done{[this] {
    const std::scoped_lock lock(writer_);
    compacts_ = false;
  }};
  Ref<sidbeam_index> base = build_base(*pinned, from->store.pairs(), config);
  std::string path;  // of its file
  const Finally unless_named{[&] {
    if (!path.empty()) ::unlink(path.c_str());
  }};
  if (storage_ != nullptr) base = store_base(*base, config, path);
  const std::scoped_lock lock(writer_);
  if (generation_ != from)
    fail(SIDBEAM_BAD_STATE, "the catalogue went back to a version of another base while it was compacted");
  try {
    const int64_t version = move_to(std::move(base), *pinned);
    path.clear();
    return version;
  } catch (...) {
    if (storage_ != nullptr && storage_->failed()) path.clear();  // the manifest may name it all the same
    throw;
  }
}

// Writes a base beside the others, and opens it there.
Ref<sidbeam_index> LiveCatalog::store_base(const sidbeam_index& base, const sidbeam_compact_config& config,
                                           std::string& path) const {
  ManifestGeneration next;
  {
    const std::scoped_lock lock(writer_);
    next = next_base(base);
  }
  path = storage_->folder().file(next.base);
  write_base(base, path, config);
  return open_base(runtime_, path, next, settings_.base);
}

// The next base as the manifest will name it.
ManifestGeneration LiveCatalog::next_base(const sidbeam_index& base) const {
  const int64_t number = newest_generation_ + 1;
  return {number, CatalogFolder::base_name(number), base.index.bytes.size(),
          identity_of(runtime_->target, base.index.header)};
}

// Publishes the newest content on a base that was built of a version of this generation, and takes what has not been
// published along.
int64_t LiveCatalog::move_to(Ref<sidbeam_index> base, const sidbeam_index& built_of) {
  const Generation& from = *generation_;
  const ManifestGeneration named = next_base(*base);
  const auto to = std::make_shared<Generation>(named.number, std::move(base));
  const uint64_t rows = from.store.rows();
  Buffer<uint64_t> published = zero_bits(rows, runtime_->allocator);
  std::copy_n(from.store.live(), row_words(rows), published.data());
  for (const uint64_t row : from.store.toggled()) put_bit(published.data(), row, !has_bit(published.data(), row));
  const std::vector<uint64_t> since = changed_rows(built_of.live_rows(), built_of.row_count(), published, rows);
  carry_over(from, since, published.data(), *to);

  std::list<LiveVersion> versions = next_version(to);
  LiveVersion& next = versions.front();
  next.items = static_cast<int64_t>(to->store.live_count());
  if (to->store.added() > 0) to->added = join_store(*to);
  next.index = make_version(*to, to->added, to->store.live(), to->store.rows(), nullptr);
  name_index(next);
  to->store.sort_toggled();
  std::vector<uint8_t> record;
  if (storage_ != nullptr) record = write_publication({next.number, next.published_ns}, to->store);
  next.toggled = to->store.seal();

  std::vector<uint64_t> pending = from.store.toggled();
  keep_odd(pending);
  const bool changed = carry_over(from, pending, from.store.live(), *to);
  if (storage_ != nullptr) {
    Manifest manifest = storage_->manifest();
    manifest.generations.push_back(named);
    manifest.newest_generation = named.number;
    storage_->begin_log(std::move(manifest), to->number, {next.number, record});
  }
  // From here on nothing throws.
  newest_generation_ = named.number;
  generation_->store.discard();
  if (!changed) forget_changes();  // they had taken each other back
  return add_version(std::move(versions));
}

}  // namespace sidbeam
