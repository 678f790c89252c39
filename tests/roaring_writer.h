// Writes Roaring's portable format, for tests of its reader. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace roaring {

enum class Runs { kNone, kSome, kAll };  // kSome: in every other container

struct Writer {
  std::vector<uint8_t> bytes;

  void number(uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
  }
};

// `rows` of one container, rising, without its key.
inline std::vector<uint8_t> contents(const std::vector<uint32_t>& rows, bool as_runs) {
  Writer out;
  if (as_runs) {
    std::vector<uint32_t> begins, lasts;
    for (const uint32_t row : rows) {
      if (begins.empty() || row != lasts.back() + 1) {
        begins.push_back(row);
        lasts.push_back(row);
      }
      lasts.back() = row;
    }
    out.number(begins.size(), 2);
    for (size_t i = 0; i < begins.size(); ++i) {
      out.number(begins[i], 2);
      out.number(lasts[i] - begins[i], 2);
    }
  } else if (rows.size() <= 4096) {
    for (const uint32_t row : rows) out.number(row, 2);
  } else {
    out.bytes.resize(8192);
    for (const uint32_t row : rows) out.bytes[row / 8] = static_cast<uint8_t>(out.bytes[row / 8] | 1 << row % 8);
  }
  return out.bytes;
}

// `rows` in any order, each any number of times.
inline std::vector<uint8_t> write(std::vector<uint32_t> rows, Runs runs) {
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  std::map<uint32_t, std::vector<uint32_t>> containers;
  for (const uint32_t row : rows) containers[row >> 16].push_back(row & 0xFFFF);
  const auto count = static_cast<uint32_t>(containers.size());
  const bool with_runs = runs != Runs::kNone && count > 0;
  const auto is_run = [&](uint32_t i) { return with_runs && (runs == Runs::kAll || i % 2 == 0); };
  Writer out, all;
  if (with_runs) {
    out.number((count - 1) << 16 | 12347, 4);
    for (uint32_t i = 0; i < count; i += 8) {
      uint32_t eight = 0;
      for (uint32_t j = i; j < std::min(i + 8, count); ++j) eight |= (is_run(j) ? 1u : 0u) << (j - i);
      out.number(eight, 1);
    }
  } else {
    out.number(12346, 4);
    out.number(count, 4);
  }
  for (const auto& [key, values] : containers) {
    out.number(key, 2);
    out.number(values.size() - 1, 2);
  }
  const bool with_offsets = !with_runs || count >= 4;
  const size_t begin = out.bytes.size() + (with_offsets ? 4 * size_t{count} : 0);
  uint32_t i = 0;
  for (const auto& [key, values] : containers) {
    if (with_offsets) out.number(begin + all.bytes.size(), 4);
    const std::vector<uint8_t> more = contents(values, is_run(i++));
    all.bytes.insert(all.bytes.end(), more.begin(), more.end());
  }
  out.bytes.insert(out.bytes.end(), all.bytes.begin(), all.bytes.end());
  return out.bytes;
}

}  // namespace roaring
