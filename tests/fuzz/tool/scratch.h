// A folder for the files of the command: in memory if the system has such a place, one per process, removed at its end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

class Scratch {
 public:
  Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::vector<uint8_t>& bytes) const;
  std::vector<uint8_t> read(const std::string& name) const;
  // Names of what is in it, folders without what is in them, in order.
  std::vector<std::string> names() const;
  void clear() const;

 private:
  std::string folder_;
};

}  // namespace fuzz
