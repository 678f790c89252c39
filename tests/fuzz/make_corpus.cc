// Writes the first inputs of the fuzz targets below a folder: fuzz_open/ has one index of each kind, fuzz_abi/ and
// fuzz_numeric/ fixed noise.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "specimens.h"

namespace {

bool write(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) std::fprintf(stderr, "make_corpus: cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

// For the harnesses that draw all that they do from their input.
bool write_noise(const std::filesystem::path& folder) {
  std::mt19937 generator(20240611);
  bool written = true;
  std::filesystem::create_directories(folder);
  for (int i = 0; i < 64; ++i) {
    std::vector<uint8_t> bytes(256u + generator() % 1024u);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(generator());
    written &= write(folder / std::to_string(i), bytes);
  }
  return written;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIR\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::remove_all(folder);  // what a run has found since is not a first input
  std::filesystem::create_directories(folder / "fuzz_open");
  int number = 0;
  bool written = true;
  for (std::vector<uint8_t> bytes : fuzz::specimens()) {
    bytes.push_back(static_cast<uint8_t>(++number));  // the byte that chooses
    written &= write(folder / "fuzz_open" / std::to_string(number), bytes);
  }
  written &= write_noise(folder / "fuzz_abi") && write_noise(folder / "fuzz_numeric");
  return written ? 0 : 1;
}
