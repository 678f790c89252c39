// SPDX-License-Identifier: Apache-2.0
#include "specs.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace gpu {
namespace {

std::vector<int32_t> numbers(const std::string& text) {
  std::vector<int32_t> all;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) all.push_back(std::stoi(part));
  return all;
}

}  // namespace

std::vector<Spec> read_specs(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Spec> specs;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Spec s;
    std::string dtype, norm, at;
    words >> s.table >> s.sids >> s.levels >> s.codes >> s.slots >> s.beams >> s.columns >> s.offset >> dtype >> norm >>
        s.chain >> at;
    if (!words) throw std::runtime_error(path + ": expected twelve words, got '" + line + "'");
    s.narrow = dtype == "bf16";
    s.level_only = norm == "level";
    s.at = numbers(at);
    specs.push_back(s);
  }
  return specs;
}

Spec quick(Spec spec) {
  spec.sids = std::min<int64_t>(spec.sids, 2000);
  spec.codes = std::min(spec.codes, 48);
  spec.slots = std::min(spec.slots, 2);
  spec.beams = std::min(spec.beams, 5);
  spec.offset = std::min<int64_t>(spec.offset, 17);
  spec.columns = spec.offset + spec.codes + (spec.offset != 0 ? 30 : 0);
  spec.chain = 2;
  for (int32_t& level : spec.at) level = std::min(level, spec.levels - 1);
  return spec;
}

}  // namespace gpu
