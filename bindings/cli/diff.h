// What diff compares of an item that both sides have.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_DIFF_H
#define SIDBEAM_CLI_DIFF_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi.h"
#include "json.h"

namespace cli {

// An attribute of both, of one type.
class CommonAttribute {
 public:
  CommonAttribute(const sidbeam_index* a, int64_t number_a, const sidbeam_index* b, int64_t number_b);

  const std::string& name() const { return name_; }
  int64_t differing() const { return differing_; }
  // Compares the values of an item row of each, and counts.
  bool differs(int64_t row_a, int64_t row_b);
  // Those of the rows that were compared last.
  std::pair<Json, Json> json() const { return {sides_[0].json(type_), sides_[1].json(type_)}; }
  std::pair<std::string, std::string> text() const;

 private:
  struct Side {
    const sidbeam_index* index;
    int64_t attribute;
    uint8_t valid = 0;
    int64_t integer = 0;
    float number = 0;
    std::vector<int64_t> codes = {};
    std::vector<std::string_view> texts = {};

    void read(int32_t type, int64_t row);
    void read_texts(int32_t type, int64_t row);
    Json json(int32_t type) const;
  };

  int32_t type_;
  std::string name_;
  Side sides_[2];
  int64_t differing_ = 0;
};

struct CommonAttributes {
  CommonAttributes(const sidbeam_index* a, const sidbeam_index* b);

  std::vector<CommonAttribute> common;
  std::vector<std::string> only_a, only_b, of_other_types;
};

}  // namespace cli

#endif
