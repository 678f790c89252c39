// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace bench {
namespace {

// The sample below which a share of them lies: the nearest rank, so always one that was measured.
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::clamp<size_t>(rank, 1, sorted.size()) - 1];
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

constexpr char kTail[] = ", p99.9";

std::string number(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string text_of(const Value& value) {
  const auto* whole = std::get_if<int64_t>(&value);
  return whole != nullptr ? std::to_string(*whole) : std::get<std::string>(value);
}

}  // namespace

Statistics summarise(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  return {percentile(samples, 0.5), percentile(samples, 0.1), percentile(samples, 0.9), percentile(samples, 0.99),
          static_cast<int64_t>(samples.size())};
}

Statistics exactly(double value) { return {value, value, value, value, 1}; }

void add_tail(Measurements& measurements, const Measurement& body, std::vector<double> samples) {
  if (samples.size() < 1000) return;
  std::sort(samples.begin(), samples.end());
  Measurement tail = body;
  tail.name += kTail;
  tail.value = exactly(percentile(samples, 0.999));
  tail.value.runs = body.value.runs;
  measurements.push_back(tail);
}

std::string to_json(const Measurement& m) {
  std::string where;
  for (const auto& [key, value] : m.where) {
    where += where.empty() ? "" : ",";
    where += quoted(key) + ':';
    where += std::holds_alternative<int64_t>(value) ? text_of(value) : quoted(text_of(value));
  }
  std::string line = "{\"table\":" + quoted(m.table);
  line += ",\"case\":{" + where + "},\"name\":" + quoted(m.name);
  line += ",\"unit\":" + quoted(m.unit);
  line += ",\"median\":" + number(m.value.median) + ",\"p10\":" + number(m.value.p10);
  line += ",\"p90\":" + number(m.value.p90) + ",\"p99\":" + number(m.value.p99);
  line += ",\"runs\":" + std::to_string(m.value.runs) + ",\"note\":" + quoted(m.note);
  return line + '}';
}

JsonLines::JsonLines(const std::string& path) {
  if (path.empty()) return;
  file_.reset(std::fopen(path.c_str(), "a"));
  if (!file_) throw std::runtime_error("cannot append to " + path + ": " + std::strerror(errno));
}

void JsonLines::add(const Measurement& measurement) {
  if (!file_) return;
  const std::string line = to_json(measurement) + '\n';
  if (std::fputs(line.c_str(), file_.get()) < 0 || std::fflush(file_.get()) != 0)
    throw std::runtime_error(std::string("cannot write a measurement: ") + std::strerror(errno));
}

void TextTable::print() const {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + padding : "  " + padding + row[i];
    }
    std::printf("%s\n", line.c_str());
  }
}

void print(const Measurements& measurements) {
  TextTable text;
  text.row({"case", "", "median", "p10", "p90", "p99", "p99.9", "unit", "runs"});
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    const bool has_tail = i + 1 < measurements.size() && measurements[i + 1].name.ends_with(kTail);
    text.row({describe(m.where), m.name, figure(m.value.median), figure(m.value.p10), figure(m.value.p90),
              figure(m.value.p99), has_tail ? figure(measurements[++i].value.median) : "", m.unit,
              std::to_string(m.value.runs)});
  }
  text.print();
}

std::string figure(double value) {
  const double size = std::fabs(value);
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3;
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

std::string describe(const Case& where) {
  std::string result;
  for (const auto& [key, value] : where) result += (result.empty() ? "" : " ") + key + '=' + text_of(value);
  return result;
}

}  // namespace bench
