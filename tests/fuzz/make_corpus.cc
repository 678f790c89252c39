// Writes the first inputs of the fuzz targets below a folder, which it empties: fuzz_files/ has indexes of every kind,
// fuzz_tool/ these, draft heads and catalogues, each with a script; fuzz_model/ models of every family; fuzz_draft/
// draft heads; fuzz_import/ catalogues; fuzz_rules/ filters and sets of rows; fuzz_abi/, fuzz_runner/, fuzz_numeric/,
// fuzz_arrow/ and fuzz_catalog/ fixed noise.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <random>
#include <set>
#include <string>

#include "../roaring_writer.h"
#include "draft_specimens.h"
#include "files/mutate.h"
#include "model/input.h"
#include "specimens.h"
#include "tool/arguments.h"
#include "tool/catalogues.h"

namespace {

bool write(const std::filesystem::path& path, const std::vector<uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) std::fprintf(stderr, "make_corpus: cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

}  // namespace

// A script for each way in which a harness may use what stands before it.
std::vector<uint8_t> with_script(std::vector<uint8_t> bytes, std::initializer_list<uint8_t> script, int seed) {
  std::vector<uint8_t> tail(script);
  tail.resize(fuzz::kScriptBytes, static_cast<uint8_t>(seed));
  bytes.insert(bytes.end(), tail.begin(), tail.end());
  return bytes;
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

// Every file that the command reads, with a script that names the command for it.
bool write_tool_inputs(const std::filesystem::path& folder) {
  int number = 0;
  bool written = true;
  // Every third with --json.
  const auto add = [&](const std::vector<uint8_t>& bytes, int command, uint8_t form) {
    const uint8_t options = number % 3 == 0 ? 32 : 0;
    written &= write(folder / std::to_string(number),
                     with_script(bytes, {static_cast<uint8_t>(command), options, form}, number));
    ++number;
  };
  for (const std::vector<uint8_t>& bytes : fuzz::specimens())
    for (int command = 0; command < fuzz::kIndexCommands; ++command) add(bytes, command, 0);
  for (const std::vector<uint8_t>& bytes : fuzz::draft_specimens())
    for (int command = 0; command < 2; ++command) add(bytes, command, 0);
  for (const fuzz::CatalogueFile& file : fuzz::catalogue_files())
    for (const int command : {0, 1, 2, 3, 6}) add(file.bytes, command, static_cast<uint8_t>(file.form));
  for (int i = 0; i < 12; ++i)  // synth, and what is about a live catalogue, or plans, without a file
    for (const int command : {5, 7, 15}) add({}, command, 0);
  for (int i = 0; i < 8; ++i, ++number)  // command lines at random
    written &= write(folder / std::to_string(number), with_script({}, {0, 15, 0}, i));
  return written;
}

bool write_models(const std::filesystem::path& folder) {
  int number = 0;
  bool written = true;
  std::filesystem::create_directories(folder);
  for (const fuzz::ModelInput& input : fuzz::model_specimens())
    written &= write(folder / std::to_string(number++), encode_model(input));
  return written;
}

bool write_draft_heads(const std::filesystem::path& folder) {
  int number = 0;
  bool written = true;
  std::filesystem::create_directories(folder);
  for (const std::vector<uint8_t>& bytes : fuzz::draft_specimens())
    written &= write(folder / std::to_string(number++), bytes);
  return written;
}

// The catalogues of the command, and those of tests/bindings/field, with what is found by content and with the rest.
bool write_catalogues(const std::filesystem::path& folder) {
  int number = 0;
  bool written = true;
  std::filesystem::create_directories(folder);
  std::vector<std::vector<uint8_t>> files;
  for (const fuzz::CatalogueFile& file : fuzz::catalogue_files()) files.push_back(file.bytes);
  std::set<std::filesystem::path> paths;  // folders are listed in any order
  for (const auto& entry : std::filesystem::directory_iterator(FIELD)) paths.insert(entry.path());
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  for (const std::vector<uint8_t>& bytes : files)
    for (const uint8_t flags : std::initializer_list<uint8_t>{0, 1, 6, 14})
      written &= write(folder / std::to_string(number++), with_script(bytes, {0, 0, 0, flags}, 0));
  return written;
}

// Texts that the columns of filter_rig.h take, a set in Roaring's format with containers of every kind, and arrays. The
// first bytes choose, as fuzz_rules.cc says.
bool write_filters(const std::filesystem::path& folder) {
  int number = 0;
  bool written = true;
  std::filesystem::create_directories(folder);
  const auto add = [&](std::vector<uint8_t> bytes, std::initializer_list<uint8_t> first) {
    bytes.insert(bytes.begin(), first);
    written &= write(folder / std::to_string(number++), bytes);
  };
  for (const std::string text :
       {"price<20 and region in (us, ca) and not region_=\"a\"", "age_ in (0, 1, 5, 13, 1000, -9223372036854775808)",
        "age between -1 and 8 or price_>=-1e39", "tags contains (us, x9) or tags_ not contains 'a.'",
        "region in (a, ab, us, ca, b, x9)", "price_ in (100.0, 2e3)", "tags contains (a, ab, us, ca, b, A)",
        "stock and not stock_", "not (region_ is null or tags is not null) and true or false",
        "region!='\\u00fc' or region>\"b\\x7e\""}) {
    const std::vector<uint8_t> bytes(text.begin(), text.end());
    add(bytes, {0, 0, 0, 0});
    std::vector<uint8_t> damaged = bytes;
    for (int i = 0; i < 64; ++i) damaged.push_back(static_cast<uint8_t>(200 + i * 7));
    add(damaged, {2, static_cast<uint8_t>(bytes.size()), 0, 0});
  }
  std::vector<uint32_t> rows = {3, 5, 70'000, 131'072, 131'073, 131'075, 262'143};
  for (const roaring::Runs runs : {roaring::Runs::kNone, roaring::Runs::kSome, roaring::Runs::kAll})
    add(roaring::write(rows, runs), {3, 0x40, 0x0D, 3});
  for (uint32_t row = 100; row < 5'000; ++row) rows.push_back(row);
  const std::vector<uint8_t> bitmap = roaring::write(rows, roaring::Runs::kNone);
  std::vector<uint8_t> pairs;  // each byte and how often it follows itself
  for (const uint8_t byte : bitmap) {
    if (pairs.empty() || pairs[pairs.size() - 2] != byte || pairs.back() == 255)
      pairs.insert(pairs.end(), {byte, 0});
    else
      ++pairs.back();
  }
  add(pairs, {128, 0x40, 0x0D, 3});
  add({1, 0, 255, 7, 9}, {4, 3, 5, 0});
  return written;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIR\n");
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  std::filesystem::remove_all(folder);  // what a run has found since is not a first input
  std::filesystem::create_directories(folder / "fuzz_files");
  std::filesystem::create_directories(folder / "fuzz_tool");
  int number = 0;
  bool written = write_tool_inputs(folder / "fuzz_tool");
  for (const std::vector<uint8_t>& bytes : fuzz::specimens()) {
    const auto way = static_cast<uint8_t>(++number);
    written &= write(folder / "fuzz_files" / std::to_string(number), with_script(bytes, {way, way}, number));
  }
  written &= write_noise(folder / "fuzz_abi") && write_noise(folder / "fuzz_numeric");
  written &= write_noise(folder / "fuzz_runner") && write_noise(folder / "fuzz_arrow");
  written &= write_noise(folder / "fuzz_catalog");
  written &= write_models(folder / "fuzz_model") && write_draft_heads(folder / "fuzz_draft");
  written &= write_catalogues(folder / "fuzz_import") && write_filters(folder / "fuzz_rules");
  return written ? 0 : 1;
}
