// Results under rules, by a search that follows them and by one that does not and is filtered afterwards: time of a
// request, and how many of the exact results each returns.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "decode_case.h"
#include "sidbeam_method.h"
#include "tables.h"

namespace bench {
namespace {

constexpr int32_t kWanted = 50, kMostSeen = 2000;
constexpr int64_t kPoolRows = 1024;  // of logits, one of which each prefix has

uint64_t mixed(uint64_t bits) {
  bits = (bits ^ bits >> 30) * 0xBF58476D1CE4E5B9U;
  bits = (bits ^ bits >> 27) * 0x94D049BB133111EBU;
  return bits ^ bits >> 31;
}

// What a request has found, the best first, and the time of its steps.
struct Found {
  std::vector<int64_t> ordinals;
  double us = 0;
};

// A catalogue, searched with logits that depend on request and prefix alone.
class Searches {
 public:
  Searches(const Catalogue& catalogue, bool quick)
      : catalogue_(catalogue),
        runtime_(make_runtime(1)),
        index_(build_index(runtime_.get(), catalogue, SIDBEAM_KIND_TRIE)),
        pool_(kPoolRows * catalogue.codes) {
    std::mt19937_64 random(3);
    std::normal_distribution<float> normal(0, quick ? 1.0F : 3.0F);
    for (int64_t i = 0; i < pool_.size(); ++i) pool_[i] = normal(random);
  }
  sidbeam_index* index() const { return index_.get(); }

  // The median of a few runs, of which the first is not timed.
  Found run(sidbeam_constraint* constraint, int32_t width, int64_t request, int runs) const {
    const Session session =
        make_session(runtime_.get(), constraint, shape_of(catalogue_, 1, width), SIDBEAM_STRATEGY_TRIE);
    Found found = search(session.get(), width, request);
    std::vector<double> us;
    for (int i = 0; i < runs; ++i) us.push_back(search(session.get(), width, request).us);
    found.us = summarise(us).median;
    return found;
  }

 private:
  Found search(sidbeam_session* session, int32_t width, int64_t request) const {
    const auto beams = static_cast<size_t>(width);
    const sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    call("start", sidbeam_session_start, session, &start);
    sidbeam_beams now = SIDBEAM_BEAMS_INIT;
    call("get_beams", sidbeam_session_get_beams, session, &now);
    const sidbeam_rows rows =
        sidbeam_rows_dense(pool_.data(), SIDBEAM_DTYPE_F32, 0, kPoolRows, int64_t{catalogue_.codes});
    std::vector<uint64_t> prefixes(beams, mixed(static_cast<uint64_t>(request) + 1)), before(beams);
    std::vector<int32_t> map(beams);
    sidbeam_step_args step = SIDBEAM_STEP_ARGS_INIT;
    step.rows = &rows;
    step.row_map = map.data();
    Found found;
    for (int32_t level = 0; level < catalogue_.levels && now.active[0] > 0; ++level) {
      for (size_t m = 0; m < beams; ++m) map[m] = static_cast<int32_t>(prefixes[m] % kPoolRows);
      const double begin = thread_microseconds();
      call("step", sidbeam_session_step, session, &step);
      found.us += thread_microseconds() - begin;
      before = prefixes;
      for (size_t m = 0; m < static_cast<size_t>(now.live[0]); ++m)
        prefixes[m] = mixed(before[static_cast<size_t>(now.parents[m])] + static_cast<uint64_t>(now.codes[m]) + 1);
    }
    found.ordinals.resize(beams);
    sidbeam_items items = SIDBEAM_ITEMS_INIT;
    items.ordinals = found.ordinals.data();
    call("get_items", sidbeam_session_get_items, session, static_cast<int32_t*>(nullptr), int64_t{0}, &items);
    std::erase(found.ordinals, -1);
    return found;
  }

  const Catalogue& catalogue_;
  Runtime runtime_;
  Index index_;
  Pages<float> pool_;
};

// What a request may show. Items are one to a SID, so that rows are ordinals.
struct Rule {
  const char* name;
  int32_t percent;  // of the items that a filter leaves, drawn; 0: half of the best are excluded, as seen
};
constexpr Rule kRules[] = {{"half of the best 2000 seen", 0}, {"filter 10 %", 10}, {"filter 1 %", 1}};

class RuleCase {
 public:
  RuleCase(Context& context, const Catalogue& catalogue, const Searches& searches, const Rule& rule)
      : context_(context), searches_(searches), rule_(rule), plain_(constrain(searches.index())) {
    where_ = {{"N", catalogue.sids},
              {"V", int64_t{catalogue.codes}},
              {"L", int64_t{catalogue.levels}},
              {"catalogue", catalogue.name},
              {"rules", rule.name}};
    std::mt19937_64 random(7);
    for (int64_t row = 0; row < catalogue.sids && rule.percent > 0; ++row)
      if (static_cast<int32_t>(random() % 100) < rule.percent) passing_.push_back(row);
    if (rule.percent == 0) return;
    filter_ = filter_of(searches.index(), passing_);
    call("filter_prepare", sidbeam_filter_prepare, filter_.get());
  }

  void run() {
    const bool quick = context_.options.quick;
    const int64_t requests = quick ? 2 : 12;
    const int runs = quick ? 1 : 5;
    for (int64_t request = 0; request < requests; ++request) {
      std::vector<int64_t> seen = seen_by(request);
      const sidbeam_item_list excluded = list_of(seen);
      const double begin = thread_microseconds();
      const Constraint ruled = constrain(searches_.index(), filter_.get(), rule_.percent == 0 ? &excluded : nullptr);
      making_.push_back(thread_microseconds() - begin);
      const Found exact = searches_.run(ruled.get(), kWanted, request, runs);
      exact_us_.push_back(exact.us);
      for (const int32_t width : {50, 100, 200, 500, 1000, 2000, 4000}) {
        if (quick && width > 100) break;
        Found after = searches_.run(plain_.get(), width, request, runs);
        filter_afterwards(after, seen);
        add(width, exact, after);
      }
    }
    report();
  }

 private:
  struct After {
    std::vector<double> us, left, share;
  };

  // Every other one, by a coin, of what the request finds without rules.
  std::vector<int64_t> seen_by(int64_t request) const {
    std::vector<int64_t> seen;
    if (rule_.percent > 0) return seen;
    std::mt19937_64 random(static_cast<uint64_t>(request));
    for (const int64_t ordinal : searches_.run(plain_.get(), kMostSeen, request, 1).ordinals)
      if (random() % 2 == 0) seen.push_back(ordinal);
    std::sort(seen.begin(), seen.end());
    return seen;
  }

  void filter_afterwards(Found& found, const std::vector<int64_t>& seen) const {
    const std::vector<int64_t>& listed = rule_.percent > 0 ? passing_ : seen;
    std::erase_if(found.ordinals, [&](int64_t row) {
      return std::binary_search(listed.begin(), listed.end(), row) != (rule_.percent > 0);
    });
    if (found.ordinals.size() > kWanted) found.ordinals.resize(kWanted);
  }

  void add(int32_t width, const Found& exact, const Found& after) {
    const std::set<int64_t> wanted(exact.ordinals.begin(), exact.ordinals.end());
    const auto same =
        std::count_if(after.ordinals.begin(), after.ordinals.end(), [&](int64_t row) { return wanted.contains(row); });
    After& all = after_[width];
    all.us.push_back(after.us);
    all.left.push_back(static_cast<double>(after.ordinals.size()));
    all.share.push_back(static_cast<double>(same) / static_cast<double>(std::max<size_t>(wanted.size(), 1)));
  }

  void report() {
    const std::string name = rule_.name;
    put(kWanted, name + ", in the search", summarise(exact_us_), 1, kWanted);
    context_.json.add({"after", where_, name + ", making the constraint", "us", summarise(making_), ""});
    std::printf("  making a constraint: %s us\n", figure(summarise(making_).median).c_str());
    for (const auto& [width, all] : after_) {
      const auto mean = [](const std::vector<double>& values) {
        return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
      };
      put(width, name + ", afterwards", summarise(all.us), mean(all.share), mean(all.left));
    }
  }

  void put(int32_t width, const std::string& name, const Statistics& us, double share, double left) {
    Case where = where_;
    where.emplace_back("M", int64_t{width});
    context_.json.add({"after", where, name, "us", us, ""});
    context_.json.add({"after", where, name, "share of the exact 50", exactly(share), ""});
    context_.json.add({"after", where, name, "results of 50", exactly(left), ""});
    std::printf("  %-46s M=%-5d %9s us  %5.1f results  %5.1f %% of the exact ones\n", name.c_str(), width,
                figure(us.median).c_str(), left, 100 * share);
  }

  Context& context_;
  const Searches& searches_;
  const Rule& rule_;
  Constraint plain_;
  Filter filter_;
  std::vector<int64_t> passing_;
  Case where_;
  std::vector<double> exact_us_, making_;
  std::map<int32_t, After> after_;
};

void run_catalogue(Context& context, const Catalogue& catalogue) {
  const Searches searches(catalogue, context.options.quick);
  for (const Rule& rule : kRules) {
    std::printf("\nafter  N=%lld V=%d L=%d catalogue=%s rules=%s\n", static_cast<long long>(catalogue.sids),
                catalogue.codes, catalogue.levels, catalogue.name.c_str(), rule.name);
    RuleCase(context, catalogue, searches, rule).run();
  }
}

}  // namespace

void after_table(Context& context) {
  const bool quick = context.options.quick;
  run_catalogue(context, draw_catalogue(Skew::kUniform, quick ? 3000 : 1000000, quick ? 4 : 8, quick ? 64 : 2048));
  const std::vector<std::string> paths = real_catalogues();
  if (!paths.empty() && !quick) run_catalogue(context, read_catalogue(paths.front(), 256));
}

}  // namespace bench
