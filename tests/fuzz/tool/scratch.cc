// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "../specimens.h"

namespace fuzz {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "sidbeam-fuzz-tool-";

fs::path base() {
  const char* chosen = std::getenv("TMPDIR");
  if (chosen != nullptr) return chosen;
  return fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
}

// A process that found something had no time to clear up.
void sweep() {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(base(), ignored)) {
    const std::string name = entry.path().filename();
    if (name.rfind(kPrefix, 0) != 0) continue;
    const auto process = static_cast<pid_t>(std::atoi(name.c_str() + std::char_traits<char>::length(kPrefix)));
    if (process > 0 && kill(process, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace

Scratch::Scratch(const std::string& name) : folder_(base() / (kPrefix + std::to_string(getpid()) + name)) {
  sweep();
  fs::remove_all(folder_);
  fs::create_directory(folder_);
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::string Scratch::write(const std::string& name, const std::vector<uint8_t>& bytes) const {
  std::ofstream file(path(name), std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  FUZZ_CHECK(static_cast<bool>(file));
  return path(name);
}

std::string Scratch::make_folder(const std::string& name) const {
  fs::create_directories(path(name));
  return path(name);
}

std::vector<uint8_t> Scratch::read(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::vector<std::string> Scratch::names() const {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

void Scratch::clear() const {
  for (const std::string& name : names()) fs::remove_all(path(name));
}

}  // namespace fuzz
