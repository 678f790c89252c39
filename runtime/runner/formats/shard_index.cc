// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/shard_index.h"

#include <algorithm>
#include <map>

#include "runner/formats/json.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr size_t kMostShards = 4096;

class IndexReader : public JsonEvents {
 public:
  IndexReader(const char* path, ShardIndex& index) : path_(path), index_(index) {}

  void begin(JsonKind kind) override {
    ++depth_;
    if (depth_ == 1 && kind != JsonKind::kObject) refuse("is not an object");
    if (depth_ == 2 && in_map_ && kind != JsonKind::kObject) refuse("has a weight_map that is not an object");
    if (depth_ == 3 && in_map_) refuse("has a weight_map with something else than names of files");
  }
  void end() override {
    if (--depth_ == 1) in_map_ = false;
  }
  void key(std::string_view name) override {
    if (depth_ == 1 && name == "weight_map") {
      if (had_map_) refuse("has weight_map twice");
      in_map_ = had_map_ = true;
    } else if (depth_ == 2 && in_map_) {
      place_ = {static_cast<uint32_t>(index_.text.size()), static_cast<uint32_t>(name.size()), 0};
      index_.text.append(name);
    }
  }
  void scalar(const JsonScalar& value) override {
    if (depth_ == 0) refuse("is not an object");
    if (!in_map_) return;
    if (depth_ == 1) refuse("has a weight_map that is not an object");
    if (value.kind != JsonKind::kText) refuse("has a weight_map with something else than names of files");
    place_.shard = shard_of(value.text);
    index_.places.push_back(place_);
  }
  void check_map() const {
    if (!had_map_ || index_.places.empty()) refuse("has no weight_map");
  }

 private:
  [[noreturn]] void refuse(const char* what) const { fail(SIDBEAM_CORRUPT, "'%.300s' %s", path_, what); }

  int32_t shard_of(std::string_view file) {
    const auto found = shards_.find(file);
    if (found != shards_.end()) return found->second;
    // A file of the folder itself, not one that the index may choose.
    if (file.empty() || file == "." || file == ".." || file.size() > 255 ||
        file.find_first_of(std::string_view("/\0", 2)) != std::string_view::npos)
      fail(SIDBEAM_CORRUPT, "'%.300s' has the file '%.200s' in its weight_map, expected the name of a file beside it",
           path_, std::string(file).c_str());
    if (index_.files.size() == kMostShards) refuse("has more than 4096 files in its weight_map");
    const auto shard = static_cast<int32_t>(index_.files.size());
    index_.files.emplace_back(file);
    shards_.emplace(file, shard);
    return shard;
  }

  const char* path_;
  ShardIndex& index_;
  std::map<std::string, int32_t, std::less<>> shards_;
  ShardIndex::Place place_;
  int depth_ = 0;
  bool in_map_ = false, had_map_ = false;
};

}  // namespace

const ShardIndex::Place* ShardIndex::find(std::string_view wanted) const {
  const auto at = std::lower_bound(places.begin(), places.end(), wanted,
                                   [&](const Place& place, std::string_view sought) { return name(place) < sought; });
  return at != places.end() && name(*at) == wanted ? &*at : nullptr;
}

ShardIndex read_shard_index(const char* path, std::string_view text) {
  ShardIndex index;
  IndexReader reader(path, index);
  read_json(path, text, reader);
  reader.check_map();
  const auto by_name = [&](const auto& a, const auto& b) { return index.name(a) < index.name(b); };
  std::sort(index.places.begin(), index.places.end(), by_name);
  const auto same = [&](const auto& a, const auto& b) { return index.name(a) == index.name(b); };
  const auto twice = std::adjacent_find(index.places.begin(), index.places.end(), same);
  if (twice != index.places.end())
    fail(SIDBEAM_CORRUPT, "'%.300s' has tensor '%.200s' twice", path, std::string(index.name(*twice)).c_str());
  return index;
}

}  // namespace sidbeam::runner
