// What may be shown: --exclude, --allow and --where of the commands that search.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_RULES_H
#define SIDBEAM_CLI_RULES_H

#include <optional>
#include <string>

#include "abi.h"
#include "command_line.h"
#include "item_lists.h"

namespace cli {

struct RuleOptions {
  std::string excluded, allowed, where;
};
void add_rule_options(Command command, RuleOptions& o);
// Says the forms of their values; --help of such a command ends with it.
inline const std::string kRulesHelp =
    "FILE of --exclude and --allow: an id per line, for all requests; where its name ends in .jsonl, an array of ids\n"
    "per request, a line each, or null for no list. Ids that the index does not have are counted and passed over.\n"
    "TEXT of --where: as in 'price<20 and region in (us, ca)'; 'sidbeam inspect' shows the attributes.\n";
// Refuses rules beside anything but the trie; `option` chose it.
void check_rules(const RuleOptions& o, const std::string& option, const std::string& chosen);

// The rules on an index, which must stay. Threads may share it.
class Rules {
 public:
  Rules(const RuleOptions& o, sidbeam_index* index, int32_t id_type, int64_t requests);

  bool given() const { return filter_ != nullptr || excluded_ || allowed_; }
  // Of one request: the whole index where no rules are given.
  Constraint of(int64_t request) const;

 private:
  Constraint make(int64_t request) const;

  sidbeam_index* index_;
  Filter filter_;
  std::optional<ItemLists> excluded_, allowed_;
  Constraint shared_;  // that of all requests; none where they have lists of their own
};

}  // namespace cli

#endif
