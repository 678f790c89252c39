// Measurements in processes of their own. SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "index_tables.h"

namespace bench {
namespace {

void write_all(int file, const std::vector<double>& numbers) {
  const auto* bytes = reinterpret_cast<const char*>(numbers.data());
  for (size_t left = numbers.size() * sizeof(double); left > 0;) {
    const ssize_t written = write(file, bytes, left);
    if (written < 0) throw std::runtime_error(std::string("cannot write to the parent: ") + std::strerror(errno));
    bytes += written;
    left -= static_cast<size_t>(written);
  }
}

std::vector<double> read_all(int file) {
  std::string bytes;
  char piece[4096];
  for (ssize_t count; (count = read(file, piece, sizeof piece)) > 0;) bytes.append(piece, static_cast<size_t>(count));
  std::vector<double> numbers(bytes.size() / sizeof(double));
  if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(double));
  return numbers;
}

// The child ends without destructors or buffers of the parent's.
[[noreturn]] void run_child(int file, const std::function<std::vector<double>()>& work) {
  try {
    write_all(file, work());
    _exit(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_index: %s\n", error.what());
    _exit(1);
  }
}

}  // namespace

std::vector<double> in_child(const std::function<std::vector<double>()>& work) {
  int ends[2];
  std::fflush(nullptr);
  if (pipe(ends) != 0) throw std::runtime_error(std::string("cannot make a pipe: ") + std::strerror(errno));
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("cannot fork: ") + std::strerror(errno));
  if (child == 0) run_child(ends[1], work);
  close(ends[1]);
  std::vector<double> numbers = read_all(ends[0]);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("a measuring process failed (status " + std::to_string(status) + ")");
  return numbers;
}

double memory_of_this_process(const std::string& field) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) * 1024;
  throw std::runtime_error("/proc/self/status has no " + field);
}

}  // namespace bench
