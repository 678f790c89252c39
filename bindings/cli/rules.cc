// SPDX-License-Identifier: Apache-2.0
#include "rules.h"

namespace cli {
namespace {

Filter parse_filter(sidbeam_index* index, const std::string& text) {
  sidbeam_filter* filter = nullptr;
  try {
    call(sidbeam_filter_parse, index, text.data(), static_cast<int64_t>(text.size()), &filter);
  } catch (const LibraryFailure& failure) {
    const std::string what = failure.what(), theirs = "filter: ";
    throw LibraryFailure(
        failure.status,
        "--where: " + (what.compare(0, theirs.size(), theirs) == 0 ? what.substr(theirs.size()) : what));
  }
  return Filter(filter);
}

}  // namespace

void add_rule_options(Command command, RuleOptions& o) {
  constexpr const char* kRules = "what may be shown";
  const auto not_empty = [](const std::string& text) {
    return std::string(text.empty() ? "empty, expected a value" : "");
  };
  command.add_option("--exclude", o.excluded, "items that do not come, say those that a user has")
      .type_name("FILE")
      .check(not_empty)
      .under(kRules);
  command.add_option("--allow", o.allowed, "items that alone may come; of an empty file none do")
      .type_name("FILE")
      .check(not_empty)
      .under(kRules);
  command.add_option("--where", o.where, "what attributes of an item must be")
      .type_name("TEXT")
      .check(not_empty)
      .under(kRules);
}

void check_rules(const RuleOptions& o, const std::string& option, const std::string& chosen) {
  if (chosen == "trie") return;
  const char* rule = !o.excluded.empty()  ? "--exclude"
                     : !o.allowed.empty() ? "--allow"
                     : !o.where.empty()   ? "--where"
                                          : nullptr;
  if (rule != nullptr) throw UsageError(std::string(rule) + ": goes with " + option + " trie, not " + chosen);
}

Rules::Rules(const RuleOptions& o, sidbeam_index* index, int32_t id_type, int64_t requests) : index_(index) {
  if (!o.where.empty()) filter_ = parse_filter(index, o.where);
  if (!o.excluded.empty()) excluded_.emplace(o.excluded, id_type, requests);
  if (!o.allowed.empty()) allowed_.emplace(o.allowed, id_type, requests);
  if ((!excluded_ || excluded_->shared()) && (!allowed_ || allowed_->shared())) shared_ = make(0);
}

Constraint Rules::of(int64_t request) const {
  if (shared_ == nullptr) return make(request);
  sidbeam_constraint_retain(shared_.get());
  return Constraint(shared_.get());
}

Constraint Rules::make(int64_t request) const {
  const auto excluded = excluded_ ? excluded_->of(request) : std::nullopt;
  const auto allowed = allowed_ ? allowed_->of(request) : std::nullopt;
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index_;
  config.filter = filter_.get();
  config.excluded = excluded ? &*excluded : nullptr;
  config.allowed = allowed ? &*allowed : nullptr;
  sidbeam_constraint* constraint = nullptr;
  call(sidbeam_constraint_create, &config, &constraint);
  return Constraint(constraint);
}

}  // namespace cli
