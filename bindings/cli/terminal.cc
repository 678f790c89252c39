// Output for people.
// SPDX-License-Identifier: Apache-2.0
#include "terminal.h"

#include <support/escape.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "failure.h"

namespace cli {

std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  const size_t first = text[0] == '-' ? 1 : 0;
  for (size_t i = text.size(); i > first + 3;) text.insert(i -= 3, ",");
  return text;
}

std::string fixed(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, number);
  return text;
}

std::string Table::text() const {
  std::vector<size_t> widths;
  std::vector<std::vector<std::string>> cells = rows;
  for (auto& row : cells) {
    for (std::string& cell : row) cell = sidbeam::escaped(cell);
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : cells) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(widths[i] - row[i].size(), ' ');
      line += (i > 0 ? "  " : "") + (i < left ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

Progress::Progress() : terminal_(::isatty(STDERR_FILENO) != 0) {}

void Progress::show(const char* phase, int64_t done, int64_t total) {
  if (!terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (phase == phase_ && now - last_ < std::chrono::milliseconds(100)) return;
  phase_ = phase;
  last_ = now;
  drawn_ = true;
  constexpr int kWidth = 32;
  const double share = total > 0 ? std::clamp(static_cast<double>(done) / static_cast<double>(total), 0.0, 1.0) : 0.0;
  const std::string bar(static_cast<size_t>(share * kWidth), '#');
  std::fprintf(stderr, "\r\033[K%-9s [%-*s] %3d%%", phase, kWidth, bar.c_str(), static_cast<int>(share * 100));
  std::fflush(stderr);
}

void Progress::note(const std::string& line) {
  if (!terminal_) return;
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void Progress::clear() {
  if (drawn_) std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

double Stopwatch::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void print(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    throw Failure(std::string("standard output: cannot write: ") + std::strerror(errno));
  }
}

void print_line(const std::string& text) { print(sidbeam::escaped(text) + '\n'); }

}  // namespace cli
