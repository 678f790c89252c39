// A folder for the files of the command: in memory if the system has such a place, removed at its end. A process
// has one of each name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fuzz {

class Scratch {
 public:
  explicit Scratch(const std::string& name = "");
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch();

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string write(const std::string& name, const std::vector<uint8_t>& bytes) const;
  std::string make_folder(const std::string& name) const;
  std::vector<uint8_t> read(const std::string& name) const;
  // Names of what is in it, folders without what is in them, in order.
  std::vector<std::string> names() const;
  void clear() const;

 private:
  std::string folder_;
};

}  // namespace fuzz
