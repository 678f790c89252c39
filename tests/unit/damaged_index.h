// Indexes whose sections are damaged, and which nobody has verified. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "../random_constraint.h"
#include "runner_fakes.h"

namespace sidbeam::runner::fakes {

// A file's bytes, and indexes of what they are once some of them have changed.
class SoundFile {
 public:
  SoundFile(sidbeam_runtime* runtime, const handles::Builder& builder) : runtime_(runtime) {
    const std::filesystem::path path =
        std::filesystem::path(::testing::TempDir()) / ("sidbeam_damaged_" + std::to_string(::getpid()) + ".sidx");
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    handles::check(sidbeam_builder_write(builder.get(), path.c_str(), &error), error);
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    std::filesystem::remove(path);
  }

  handles::Index damaged(Randomly& random) const {
    const handles::Index whole = open(bytes_);
    std::vector<char> bytes = bytes_;
    std::vector<sidbeam_section_info> sections;
    sidbeam_section_info section = SIDBEAM_SECTION_INFO_INIT;
    for (int64_t i = 0; sidbeam_index_get_section(whole.get(), i, &section, nullptr) == SIDBEAM_OK; ++i)
      if (section.bytes > 0) sections.push_back(section);
    for (int32_t changes = 1 + random.below(12); changes > 0; --changes) {
      const sidbeam_section_info& in =
          sections[static_cast<size_t>(random.below(static_cast<int32_t>(sections.size())))];
      const auto at = static_cast<size_t>(in.offset + random.below(static_cast<int32_t>(in.bytes)));
      // Mostly small numbers, which lead further in.
      bytes[at] = static_cast<char>(random.one_in(3) ? random.below(256) : random.below(8));
    }
    return open(bytes);
  }

 private:
  handles::Index open(const std::vector<char>& bytes) const {
    sidbeam_open_config config = SIDBEAM_OPEN_CONFIG_INIT;
    config.verify = SIDBEAM_VERIFY_HEADER;
    config.residency = SIDBEAM_RESIDENCY_COPY;
    sidbeam_index* index = nullptr;
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    handles::check(
        sidbeam_index_open_memory(runtime_, bytes.data(), std::ssize(bytes), nullptr, nullptr, &config, &index, &error),
        error);
    return handles::Index(index);
  }

  sidbeam_runtime* runtime_;
  std::vector<char> bytes_;
};

}  // namespace sidbeam::runner::fakes
