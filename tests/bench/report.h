// Measurements of a benchmark: statistics of its samples, one JSON object per line, tables for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace bench {

struct Statistics {
  double median = 0, p10 = 0, p90 = 0, p99 = 0;
  int64_t runs = 0;
};
Statistics summarise(std::vector<double> samples);
// A single figure: a count, a share, a size.
Statistics exactly(double value);

// The conditions of a measurement, in the order of printing.
using Value = std::variant<int64_t, std::string>;
using Case = std::vector<std::pair<std::string, Value>>;

struct Measurement {
  std::string table;
  Case where;
  std::string name, unit;
  Statistics value;
  std::string note;
};
using Measurements = std::vector<Measurement>;
std::string to_json(const Measurement& measurement);

// Adds p99.9 as a measurement beside that of the other percentiles, where there are samples enough for one.
void add_tail(Measurements& measurements, const Measurement& body, std::vector<double> samples);

// Appends one line per measurement; without a path it takes them and writes nothing.
class JsonLines {
 public:
  explicit JsonLines(const std::string& path);
  void add(const Measurement& measurement);

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Closer> file_;
};

// Cells in aligned columns: the first to the left, the others to the right.
class TextTable {
 public:
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  void print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// All of them as a table. A p99.9 is a measurement of its own and stands in a column of the one before it.
void print(const Measurements& measurements);

// Three significant digits, never an exponent.
std::string figure(double value);
// "B=2 M=70 V=2048"
std::string describe(const Case& where);

}  // namespace bench
