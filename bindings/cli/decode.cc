// sidbeam decode: beam search over logits from a file, where one row per level serves every beam.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <numeric>

#include "beams.h"
#include "commands.h"
#include "rules.h"
#include "search_input.h"

namespace cli {
namespace {

struct Options {
  SearchOptions search;
  RuleOptions rules;
  std::string widths;
  int32_t beams = 0, top_k = 0;
  double inverse_temperature = 1.0;
  Cap cap;
};

// Checks what the library would refuse, or not notice, in terms of the options.
void check_usage(const Options& o) {
  if (!is_above_0(o.inverse_temperature)) throw UsageError("--inverse-temperature: expected a number above 0");
  check_soft_cap(o.search);
  const std::string& strategy = o.search.strategy;
  check_rules(o.rules, "--strategy", strategy);
  const bool hash_final = strategy == "hash_final";
  if (o.search.normalize == "valid" && (hash_final || strategy == "none")) {
    throw UsageError("--normalize: valid does not go with --strategy " + strategy + ", expected full, level or none");
  }
  if (o.top_k > 0 && !hash_final && strategy != "sorted_topk") {
    throw UsageError("--top-k: goes with --strategy sorted_topk or hash_final, not " + strategy);
  }
}

// A session and the loop over the levels, for as many requests at a time as it has slots.
class Decoder {
 public:
  Decoder(const Options& o, const SearchInput& input) : o_(o), input_(input) {
    // Room for the selection grows with slots x beams; more slots than this gain nothing.
    slots_ = std::max<int64_t>(1, std::min<int64_t>({64, input.logits.requests, 16384 / o.beams}));
    const int64_t slots_with_rows = std::min(slots_, input.logits.requests);
    rows_.resize(static_cast<size_t>(slots_with_rows * input.logits.columns * input.logits.array.item_bytes));
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.slots = static_cast<int32_t>(slots_);
    config.beams = o.beams;
    config.top_k = o.top_k;
    session_ = input.make_session(config);
    rules_.emplace(o.rules, input.index.get(), input.info.id_type, input.logits.requests);
    slot_numbers_.resize(static_cast<size_t>(slots_));
    std::iota(slot_numbers_.begin(), slot_numbers_.end(), 0);
    const std::vector<int32_t> widths = parse_widths(o.widths, o.beams, input.info.levels);
    width_levels_ = static_cast<int32_t>(widths.size());
    for (int64_t slot = 0; slot < slots_; ++slot) widths_.insert(widths_.end(), widths.begin(), widths.end());
  }

  int64_t slots() const { return slots_; }

  // Requests [first, first + count), count <= slots.
  std::vector<Found> decode(int64_t first, int64_t count) {
    call(sidbeam_session_stop, session_.get(), nullptr, slots_, nullptr);
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    start.slots = slot_numbers_.data();
    start.count = count;
    std::vector<Constraint> constraints;
    std::vector<sidbeam_constraint*> pointers;
    for (int64_t slot = 0; slot < count; ++slot)
      pointers.push_back(constraints.emplace_back(rules_->of(first + slot)).get());
    start.constraints = pointers.data();
    start.widths = widths_.empty() ? nullptr : widths_.data();
    start.width_levels = width_levels_;
    call(sidbeam_session_start, session_.get(), &start);
    // Steps do not read the rows of idle slots, which have no request.
    for (int64_t level = 0; any_active(session_.get()); ++level) {
      input_.read_rows(first, count, level, rows_.data());
      input_.step(session_.get(), rows_.data(), slots_, o_.beams, static_cast<float>(o_.inverse_temperature));
    }
    return collect(first, constraints);
  }

 private:
  std::vector<Found> collect(int64_t first, const std::vector<Constraint>& constraints) {
    const auto count = static_cast<int64_t>(constraints.size());
    const size_t width = static_cast<size_t>(o_.beams), levels = static_cast<size_t>(input_.info.levels);
    const size_t total = static_cast<size_t>(count) * width;
    std::vector<int64_t> ordinals(total);
    std::vector<int32_t> sids(total * levels), lengths(total);
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = ordinals.data();
    items.sids = sids.data();
    items.lengths = lengths.data();
    call(sidbeam_session_get_items, session_.get(), slot_numbers_.data(), count, &items);
    sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
    call(sidbeam_session_get_beams, session_.get(), &beams);
    std::vector<Found> requests;
    for (int64_t slot = 0; slot < count; ++slot) {
      Found request{first + slot, beams.errors[slot] != 0, {}};
      for (int32_t m = 0; m < beams.live[slot]; ++m) {
        const size_t at = static_cast<size_t>(slot) * width + static_cast<size_t>(m);
        const auto sid = sids.begin() + static_cast<std::ptrdiff_t>(at * levels);
        request.beams.push_back({{sid, sid + lengths[at]}, ordinals[at], beams.scores[at], {}});
      }
      const sidbeam_constraint* constraint = constraints[static_cast<size_t>(slot)].get();
      if (rules_->given()) request.allowed = allowed_of(constraint);
      find_items(input_.index.get(), constraint, input_.info.id_type, o_.search.distinct, o_.cap, request);
      requests.push_back(std::move(request));
    }
    return requests;
  }

  const Options& o_;
  const SearchInput& input_;
  std::vector<int32_t> slot_numbers_;  // 0 .. slots_-1
  std::vector<int32_t> widths_;        // [slots, width_levels]
  int32_t width_levels_ = 0;
  int64_t slots_;
  std::vector<char> rows_;  // [slots, columns] of the level
  Session session_;
  std::optional<Rules> rules_;
};

void run(const Options& o) {
  check_usage(o);
  const SearchInput input(o.search);
  Decoder decoder(o, input);
  const int64_t requests = input.logits.requests;
  std::vector<std::string> texts;
  for (int64_t first = 0; first < requests; first += decoder.slots()) {
    for (const Found& found : decoder.decode(first, std::min(decoder.slots(), requests - first)))
      texts.push_back(o.search.json ? found_json(found).text() : found_table(found));
  }
  print(document(texts, o.search.json));
}

}  // namespace

void add_decode(Command program) {
  const auto o = std::make_shared<Options>();
  const Command command =
      program.add_subcommand("decode", "Beam search over logits from a file: only valid SIDs come out");
  add_search_options(command, o->search, {"trie", "sorted", "sorted_topk", "hash_final", "none"},
                     {"full", "level", "valid", "none"});
  command.add_option("--beams", o->beams, "M, beams of a request").required().between(1, SIDBEAM_MAX_BEAMS);
  add_widths(command, o->widths);
  add_cap(command, o->cap);
  command.add_option("--top-k", o->top_k, "codes that sorted_topk and hash_final look up a beam; default: M")
      .between(1, SIDBEAM_MAX_CODES);
  command.add_option("--inverse-temperature", o->inverse_temperature, "logits are multiplied by it")
      .capture_default_str();
  add_rule_options(command, o->rules);
  command.footer((kRulesHelp + "A row with NaN or +inf gives 'error bad_row' for its request; other requests go on.\n"
                               "Example:\n"
                               "  sidbeam decode office.sidx --logits logits.npy --beams 10 --json")
                     .c_str());
  command.callback([o] { run(*o); });
}

}  // namespace cli
