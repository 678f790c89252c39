// SPDX-License-Identifier: Apache-2.0
#include "live/compaction.h"

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>

#include "index/build/builder.h"
#include "index/live/gather.h"
#include "index/rules/bits.h"
#include "support/error.h"
#include "support/output_file.h"

namespace sidbeam {
namespace {

constexpr int64_t kRowsAtOnce = 1 << 16, kBytesAtOnce = 1 << 22;

// Reports progress, and holds a rate.
class Pace {
 public:
  Pace(const sidbeam_compact_config& config, int32_t phase, int64_t total)
      : config_(config), phase_(phase), total_(total), begin_(Clock::now()) {}
  // So much more of the total is done, and so many bytes went by.
  void went(int64_t more, int64_t bytes) {
    done_ += more;
    bytes_ += bytes;
    report();
    if (config_.bytes_per_second <= 0) return;
    const std::chrono::duration<double> takes(static_cast<double>(bytes_) /
                                              static_cast<double>(config_.bytes_per_second));
    const auto until = begin_ + std::chrono::duration_cast<Clock::duration>(takes);
    for (auto now = Clock::now(); now < until; now = Clock::now()) {
      std::this_thread::sleep_for(std::min<Clock::duration>(until - now, kSlice));
      report();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSlice{100};  // a cancellation is heard so often

  void report() const {
    if (config_.progress != nullptr && config_.progress(config_.progress_context, phase_, done_, total_) != 0)
      fail(SIDBEAM_CANCELLED, "the compaction was cancelled by its progress callback");
  }

  const sidbeam_compact_config& config_;
  int32_t phase_;
  int64_t total_, done_ = 0, bytes_ = 0;
  Clock::time_point begin_;
};

sidbeam_builder_config builder_config(const sidbeam_index& base, const sidbeam_compact_config& config) {
  const IndexHeaderInfo& header = base.index.header;
  sidbeam_builder_config out = SIDBEAM_BUILDER_CONFIG_INIT;
  out.levels = header.info.levels;
  out.codes = header.codes.data();
  out.variable_length = header.info.variable_length;
  out.id_type = header.info.id_type;
  out.kinds = header.info.kinds;
  out.keep_priorities = has_priorities(base.index.priorities) ? 1 : 0;
  out.threads = config.threads;
  out.memory_limit_bytes = config.memory_limit_bytes;
  out.codebook = header.codebook.c_str();
  out.progress = config.progress;
  out.progress_context = config.progress_context;
  if (header.own_hash_seed) out.hash_seed = static_cast<int64_t>(base.index.view.hash.seed);
  return out;
}

// So many rows of an index are read at once that a rate is held evenly, however long names and texts are.
int64_t rows_at_once(const Index& index) {
  const int64_t row_bytes = index.bytes.size() / static_cast<int64_t>(std::max<uint64_t>(index.view.items, 1));
  return std::clamp<int64_t>(kBytesAtOnce / std::max<int64_t>(row_bytes, 1), 1, kRowsAtOnce);
}

// Of rows that were read: codes, id or the place of a name, and priority; then what is as long as it is.
int64_t bytes_read(int levels, int64_t rows, const std::vector<std::string_view>& names,
                   const GatheredColumns& columns) {
  int64_t bytes = rows * (int64_t{4} * levels + 16) + columns.bytes();
  for (const std::string_view name : names) bytes += std::ssize(name);
  return bytes;
}

// Adds the live pairs of an index, base or delta, where row i of it is row number(i) of the version.
template <class Number>
void add_live(Builder& builder, const Index& index, const sidbeam_index& version, const Catalogue& shape,
              const Number& number, Pace& pace) {
  const uint64_t* live = version.live_rows();
  std::vector<uint64_t> some;
  std::vector<std::string_view> names;
  const int64_t most = rows_at_once(index);
  for (uint64_t row = 0; row < index.view.items; ++row) {
    if (live == nullptr || has_bit(live, number(row))) some.push_back(row);
    if (some.empty() || (std::ssize(some) < most && row + 1 < index.view.items)) continue;
    builder.add(read_pairs(index, some, names));
    const GatheredColumns columns({&index, shape}, some);
    for (const sidbeam_attribute_column* column : columns.columns()) builder.set_attribute(*column, std::ssize(some));
    pace.went(std::ssize(some), bytes_read(index.view.levels, std::ssize(some), names, columns));
    some.clear();
  }
}

}  // namespace

Ref<sidbeam_index> build_base(const sidbeam_index& version, const Catalogue& shape,
                              const sidbeam_compact_config& config) {
  const sidbeam_index& base = version.base();
  const sidbeam_runtime& runtime = *base.runtime;
  if (version.version->live_items == 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "no item is live, expected at least one to build an index of");
  Builder builder(builder_config(base, config), runtime.threads, runtime.allocator, runtime.target);
  for (const Attribute& each : base.index.attributes)
    builder.declare_attribute(std::string(each.name).c_str(), static_cast<int32_t>(each.type));
  for (const auto& [key, value] : base.index.header.metadata) builder.set_metadata(key.c_str(), value.c_str());
  Pace pace(config, SIDBEAM_PHASE_GATHER, version.version->live_items);
  add_live(
      builder, base.index, version, shape, [](uint64_t row) { return row; }, pace);
  if (version.delta() != nullptr) {
    const UintArray& numbers = version.version->overlay->view().rows;
    add_live(
        builder, version.delta()->index, version, shape, [&](uint64_t row) { return numbers[row]; }, pace);
  }
  auto index = std::make_unique<sidbeam_index>();
  index->runtime = share(base.runtime);
  index->index = builder.finish();
  index->verified = SIDBEAM_VERIFY_FULL;
  return Ref<sidbeam_index>::adopt(index.release());
}

void write_base(const sidbeam_index& base, const std::string& path, const sidbeam_compact_config& config) {
  const IndexBytes& bytes = base.index.bytes;
  OutputFile file(path.c_str(), false);
  file.reserve(bytes.size());
  Pace pace(config, SIDBEAM_PHASE_WRITE, bytes.size());
  for (int64_t done = 0; done < bytes.size(); done += kBytesAtOnce) {
    const int64_t some = std::min(kBytesAtOnce, bytes.size() - done);
    file.write(bytes.data() + done, some);
    if (config.bytes_per_second > 0) file.sync();  // else the disk gets it all at once in the end
    pace.went(some, some);
  }
  file.sync();
  file.commit();
}

bool carry_over(const Generation& from, const std::vector<uint64_t>& rows, const uint64_t* live, Generation& to) {
  if (rows.empty()) return false;
  std::vector<uint64_t> all;
  for (const uint64_t row : rows) {
    const std::vector<uint64_t> of_item = from.store.rows_of(from.store.id_of_row(row));
    all.insert(all.end(), of_item.begin(), of_item.end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::vector<ItemId> ids;
  for (const uint64_t row : all) ids.push_back(from.store.id_of_row(row));
  bool changed = to.store.remove(ids) < std::ssize(ids);
  std::erase_if(all, [&](uint64_t row) { return !has_bit(live, row); });
  for (size_t first = 0; first < all.size(); first += kRowsAtOnce) {
    const std::span<const uint64_t> some =
        std::span(all).subspan(first, std::min(all.size() - first, static_cast<size_t>(kRowsAtOnce)));
    const GatheredPairs pairs({&from.base->index, from.store.pairs()}, some, true);
    changed |= to.store.add(pairs.pairs(), pairs.attributes());
  }
  return changed;
}

}  // namespace sidbeam
