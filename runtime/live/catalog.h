// A live catalogue: what its writer adds and removes, and the versions that were published, in memory or in a folder.
// Readers take a version, an index like any other, and keep it as long as they like.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "index/arrow/stream.h"
#include "live/loader.h"
#include "live/storage.h"
#include "live/versions.h"
#include "sidbeam/catalog.h"
#include "support/process.h"

namespace sidbeam {

struct CatalogSettings {
  KeepPolicy keep;
  SyncPolicy sync;
  BaseSettings base;
  bool accept_loss = false;
};

// Implements sidbeam_catalog. The functions are those of sidbeam/catalog.h, but report errors by throwing Failure.
class LiveCatalog {
 public:
  static std::unique_ptr<LiveCatalog> create(Ref<sidbeam_index> base, const char* folder,
                                             const CatalogSettings& settings);
  static std::unique_ptr<LiveCatalog> open(Ref<sidbeam_runtime> runtime, const char* folder,
                                           const CatalogSettings& settings);
  static std::unique_ptr<LiveCatalog> follow(Ref<sidbeam_runtime> runtime, const char* folder,
                                             const CatalogSettings& settings);
  ~LiveCatalog();
  LiveCatalog(const LiveCatalog&) = delete;
  LiveCatalog& operator=(const LiveCatalog&) = delete;

  void add(const Catalogue::Pairs& pairs, std::span<const sidbeam_attribute_column* const> attributes);
  int64_t add_arrow(arrow::Stream& stream, const sidbeam_arrow_config& config);
  int64_t remove(const sidbeam_item_list& items);
  void discard();
  int64_t publish();
  int64_t go_back(int64_t version);
  int64_t compact(const sidbeam_compact_config& config);
  void sync();
  int64_t refresh(int64_t wait_ms);

  Ref<sidbeam_index> find(int64_t version) const;
  sidbeam_catalog_info info() const;
  sidbeam_version_info version_info(int64_t version) const;
  sidbeam_runtime& runtime() const { return *runtime_; }
  // The log of which the end was given up when it was opened; empty: none.
  const std::string& lost() const { return lost_; }

 private:
  LiveCatalog(Ref<sidbeam_runtime> runtime, const CatalogSettings& settings);
  void check_process() const;
  void check_writes() const;
  template <class Change>
  void change(const Change& change);
  int64_t add_counted(PairStore& store, const Catalogue::Pairs& pairs,
                      std::span<const sidbeam_attribute_column* const> attributes);
  int64_t add_all(PairStore& store, const Catalogue& incoming);
  void forget_changes() noexcept;
  std::list<LiveVersion> next_version(const std::shared_ptr<Generation>& generation) const;
  int64_t add_version(std::list<LiveVersion> versions) noexcept;
  std::vector<int64_t> kept_generations() const;
  Buffer<uint64_t> live_bits(int64_t version, std::vector<uint64_t>& toggled, LiveVersion& out) const;
  Ref<sidbeam_index> store_base(const sidbeam_index& base, const sidbeam_compact_config& config,
                                std::string& path) const;
  ManifestGeneration next_base(const sidbeam_index& base) const;
  int64_t move_to(Ref<sidbeam_index> base, const sidbeam_index& built_of);
  bool take_over();
  bool read_folder(const Manifest& manifest);

  Ref<sidbeam_runtime> runtime_;
  CatalogSettings settings_;
  const uint64_t process_ = this_process();
  mutable std::mutex writer_;  // of all that follows; whoever only reads versions_ needs it not
  std::shared_ptr<Generation> generation_;
  int64_t change_count_ = 0, change_text_ = 0;  // since the last publish: calls, and bytes of text that came with them
  std::unique_ptr<CatalogStorage> storage_;     // of a writer in a folder
  std::unique_ptr<CatalogFolder> folder_;       // of a follower
  std::unique_ptr<CatalogLoader> loader_;       // of a follower; null: all is to be read again
  bool compacts_ = false;
  int64_t newest_generation_ = 1;  // the greatest number that was given
  int64_t cut_bytes_ = 0;
  std::string lost_;
  mutable VersionList versions_;
};

}  // namespace sidbeam
