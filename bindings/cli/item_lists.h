// Lists of items that a file gives: one for all requests, or one per request.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_ITEM_LISTS_H
#define SIDBEAM_CLI_ITEM_LISTS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "abi.h"

namespace cli {

class ItemLists {
 public:
  // An id per line is one list for all requests; blank lines are passed over. A file whose name ends in .jsonl has an
  // array of ids per request, a line each, in their order, or null for no list.
  ItemLists(const std::string& path, int32_t id_type, int64_t requests);
  // One list, of ids that the command line has as `place`.
  ItemLists(const std::string& place, const std::vector<std::string>& ids, int32_t id_type);

  bool shared() const { return shared_; }  // one list for all requests
  // Nothing where the request has no list. Valid as long as the object is where it is.
  std::optional<sidbeam_item_list> of(int64_t request) const;

 private:
  void add(const std::string& place, const std::string& id);
  void read_lines(const std::string& path);
  void read_arrays(const std::string& path);

  struct Span {
    int64_t begin, end;
    bool given;
  };

  int32_t id_type_;
  bool shared_;
  // Of all lists: integer ids, or names and where each begins.
  std::vector<int64_t> numbers_, offsets_ = {0};
  std::string names_;
  std::vector<Span> lists_;  // entries of each
};

}  // namespace cli

#endif
