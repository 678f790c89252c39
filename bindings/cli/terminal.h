// Output for people: aligned tables, numbers with separators, a progress bar.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_TERMINAL_H
#define SIDBEAM_CLI_TERMINAL_H

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace cli {

std::string with_commas(int64_t number);
std::string fixed(double number, int digits);
// "3,1,2"
template <class Numbers>
std::string join(const Numbers& numbers) {
  std::string text;
  for (const auto number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

// Rows of cells; columns are as wide as their widest cell. The first `left` columns are aligned left, others right.
// Bytes that a terminal would obey are escaped, so that a cell stays a cell.
struct Table {
  size_t left = 1;
  std::vector<std::vector<std::string>> rows;

  std::string text() const;
};

// One line of standard error that is redrawn, only on a terminal; it goes when the object does.
class Progress {
 public:
  Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  void show(const char* phase, int64_t done, int64_t total);
  // A line that stays, above the bar; only on a terminal.
  void note(const std::string& line);
  void clear();

 private:
  bool terminal_;
  bool drawn_ = false;
  const char* phase_ = nullptr;
  std::chrono::steady_clock::time_point last_{};
};

struct Stopwatch {
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  double seconds() const;
};

// Writes to standard output and throws if it cannot. Not for text from outside: that goes into a Table, into JSON or
// through print_line.
void print(const std::string& text);
// One line, whatever the text holds: escaped, with an end of line.
void print_line(const std::string& text);

}  // namespace cli

#endif
