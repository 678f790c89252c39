// SPDX-License-Identifier: Apache-2.0
#include "index_files.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <thread>

#include "index_tables.h"
#include "mix.h"

namespace bench {

Runtime runtime_of(int threads) {
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = threads;
  return make<Runtime>("runtime_create", sidbeam_runtime_create, &config);
}

Pages<int32_t> draw_rows(int64_t count, int32_t levels, int32_t codes, uint64_t seed) {
  Pages<int32_t> rows(count * levels);
  const auto fill = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      rows[i] =
          static_cast<int32_t>((mix(mix(seed) + static_cast<uint64_t>(i)) >> 32) * static_cast<uint64_t>(codes) >> 32);
  };
  const int64_t half = rows.size() / 2;
  std::thread other(fill, half, rows.size());
  fill(0, half);
  other.join();
  return rows;
}

Builder make_builder(sidbeam_runtime* runtime, const BuildShape& shape) {
  const std::vector<int32_t> codes(static_cast<size_t>(shape.levels), shape.codes);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = shape.levels;
  config.codes = codes.data();
  config.kinds = shape.kinds;
  config.threads = shape.threads;
  config.progress = shape.progress;
  config.progress_context = shape.context;
  return make<Builder>("builder_create", sidbeam_builder_create, runtime, &config);
}

void add_rows(sidbeam_builder* builder, const Pages<int32_t>& rows, int32_t levels) {
  call("builder_add", sidbeam_builder_add, builder, rows.data(), nullptr, rows.size() / levels, nullptr, nullptr);
}

IndexFiles::IndexFiles(std::string folder) : folder_(std::move(folder)) {
  folder_ += "/sidbeam-bench-" + std::to_string(getpid());
  std::filesystem::create_directories(folder_);
}

IndexFiles::~IndexFiles() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

const std::string& IndexFiles::path(const Kind& kind, int64_t sids, uint64_t seed, int threads) {
  const std::string name = std::string(kind.name) + "-" + std::to_string(sids) + "-" + std::to_string(seed);
  const auto [found, missing] = paths_.try_emplace(name, folder_ + "/" + name + ".sidx");
  if (!missing) return found->second;
  in_child([&, path = found->second] {
    const Runtime runtime = runtime_of(threads);
    BuildShape shape;
    shape.kinds = kind.kinds;
    const Builder builder = make_builder(runtime.get(), shape);
    add_rows(builder.get(), draw_rows(sids, kLevels, kCodes, seed), kLevels);
    call("builder_write", sidbeam_builder_write, builder.get(), path.c_str());
    return std::vector<double>();
  });
  return found->second;
}

}  // namespace bench
