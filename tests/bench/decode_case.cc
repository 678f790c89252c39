// SPDX-License-Identifier: Apache-2.0
#include "decode_case.h"

#include <cmath>
#include <numeric>

#include "baselines/normalizer.h"
#include "trajectory.h"

namespace bench {
namespace {

constexpr double kReferenceBytes = 4e9;

// A method that takes part.
struct Contender {
  const MethodEntry* entry;
  std::unique_ptr<Method> method;
  std::vector<std::vector<double>> level_us;  // [L] samples
  std::vector<double> step_us;                // a decode's mean
  double spent_us = 0, last_us = 0;           // timed decodes
  std::string note;
};

// What is decoded: rows as they were drawn, or as a model makes them.
struct Decoding {
  const Shape& shape;
  Logits& logits;
  RowModel* model;
  bool thread_time;

  template <typename Work>
  double stopwatch(const Work& work) const {
    if (thread_time) {
      const double begin = thread_microseconds();
      work();
      return thread_microseconds() - begin;
    }
    const Clock::time_point begin = Clock::now();
    work();
    return microseconds(Clock::now() - begin);
  }
};

// Decodes once; times are kept if asked for.
void decode_once(Contender& contender, const Decoding& decoding, bool keep) {
  const Shape& shape = decoding.shape;
  // A method without beams leads nowhere that a model could follow.
  RowModel* model = contender.entry->promise == Promise::kNoBeams ? nullptr : decoding.model;
  contender.method->start();
  if (model != nullptr) model->start();
  double total = 0;
  for (int32_t level = 0; level < shape.levels; ++level) {
    const Rows rows = decoding.logits.next();
    if (model != nullptr) model->before(rows);
    const double us = decoding.stopwatch([&] { contender.method->step(level, rows); });
    if (model != nullptr) model->after(contender.method->beams());
    total += us;
    if (keep) contender.level_us[static_cast<size_t>(level)].push_back(us);
  }
  contender.last_us = total;
  if (!keep) return;
  contender.spent_us += total;
  contender.step_us.push_back(total / shape.levels);
}

// A method's turn: once untimed, so that the caches are its own (except a method so slow that it fills them anyway),
// then timed for two milliseconds or one decode.
void take_turn(Contender& contender, const Decoding& decoding) {
  constexpr double kTurnUs = 2000;
  if (contender.last_us < kTurnUs) decode_once(contender, decoding, false);
  const double until = contender.spent_us + kTurnUs;
  do {
    decode_once(contender, decoding, true);
  } while (contender.spent_us < until);
}

void time_all(std::vector<Contender>& contenders, const Decoding& decoding, const Budget& budget) {
  for (bool all_spent = false; !all_spent;) {
    all_spent = true;
    for (Contender& contender : contenders) {
      if (budget.spent(std::ssize(contender.step_us), contender.spent_us)) continue;
      take_turn(contender, decoding);
      all_spent = false;
    }
  }
}

// After a search has run out of beams its steps do nothing, which a mean should not hide.
std::string live_at_the_end(const Trajectory& trajectory) {
  int64_t live = 0;
  for (const int32_t count : trajectory.levels.back().live) live += count;
  return std::to_string(live) + " of " + std::to_string(int64_t{trajectory.slots} * trajectory.beams) +
         " beams live at the end";
}

std::vector<float> lse_of(const Shape& shape, const Logits& logits) {
  const Rows ring = logits.ring();
  std::vector<float> result;
  for (int64_t r = 0; r < ring.ring_rows; ++r) result.push_back(normalizer_of(ring, shape, 0, r).ref);
  return result;
}

class Run {
 public:
  Run(Context& context, World& world, const DecodeCase& decode)
      : context_(context),
        world_(world),
        decode_(decode),
        shape_(decode.shape),
        logits_(decode.source, shape_.slots, shape_.beams, shape_.columns, shape_.levels, shape_.dtype,
                decode.ring_bytes),
        model_(decode.make_rows != nullptr ? decode.make_rows(world.catalogue(), shape_) : nullptr) {}

  std::map<std::string, StepTimes> all() {
    std::printf("\n%s  %s\n", decode_.table.c_str(), describe(where_of(world_, decode_)).c_str());
    for (const std::string& name : decode_.methods) {
      const MethodEntry& entry = find_method(name);
      const std::string reason = why_not(entry, world_, context_.most_bytes);
      if (reason.empty()) {
        contenders_.push_back({&entry, make(entry), {}, {}, 0, 0, ""});
        contenders_.back().level_us.resize(static_cast<size_t>(shape_.levels));
      } else {
        std::printf("%s: %s\n", name.c_str(), reason.c_str());
      }
    }
    for (Contender& contender : contenders_) verify(contender);
    time_all(contenders_, {shape_, logits_, model_.get(), decode_.thread_time}, context_.budget);
    for (const Contender& contender : contenders_) report(contender);
    print();
    return times_;
  }

 private:
  std::unique_ptr<Method> make(const MethodEntry& entry) {
    Shape shape = shape_;
    if (decode_.given || entry.given) {
      if (lse_.empty()) lse_ = lse_of(shape_, logits_);
      shape.lse = lse_.data();
    }
    return entry.make(world_, shape);
  }

  // Mask-then-top-k; masked by binary search in the SIDs if a trie for this alone would take too much memory.
  const Trajectory& reference(Promise promise) {
    const bool unconstrained = promise == Promise::kUnconstrained;
    Trajectory& trajectory = references_[unconstrained];
    if (!trajectory.levels.empty()) return trajectory;
    const bool small = why_not(find_method("mask_nth"), world_, kReferenceBytes).empty();
    const MethodEntry& entry = find_method(unconstrained ? "unmasked_nth" : small ? "mask_nth" : "ppv_exact");
    return trajectory = record(*make(entry), shape_, logits_, model_.get());
  }

  void verify(Contender& contender) {
    const MethodEntry& entry = *contender.entry;
    if (entry.promise == Promise::kNoBeams) return;
    const Trajectory got = record(*contender.method, shape_, logits_, model_.get());
    const std::string twin = entry.same_as;
    if (entry.promise == Promise::kDrawn) {
      contender.note = live_at_the_end(got);
      if (!twin.empty())
        compare(entry, difference_of_draws(got, record(*make(find_method(twin)), shape_, logits_, model_.get())));
      return;
    }
    const Trajectory& wanted = reference(entry.promise);
    if (entry.promise != Promise::kApproximate) return compare(entry, difference(got, wanted, exact_ties(entry)));
    contender.note = live_at_the_end(got);
    share(entry, "share of the exact beams found", share_found(got, wanted));
    share(entry, "share of the beams that exist", share_valid(got, world_.catalogue()));
    if (twin.empty()) return;
    const Trajectory other = record(*make(find_method(twin)), shape_, logits_, model_.get());
    compare(entry, difference(got, other, exact_ties(entry)));
  }

  bool exact_ties(const MethodEntry& entry) const { return entry.exact_ties && !decode_.given; }

  void compare(const MethodEntry& entry, const std::string& text) const {
    if (text.empty()) return;
    throw Mismatch(std::string(entry.name) + ", " + describe(where_of(world_, decode_)) + ", " + text);
  }

  void share(const MethodEntry& entry, const std::string& unit, double value) {
    add(entry.name, unit, exactly(value), "all", "");
    std::printf("%s: %s %.4f\n", entry.name, unit.c_str(), value);
  }

  void add(const std::string& name, const std::string& unit, const Statistics& value, const std::string& level,
           const std::string& note) {
    Case where = where_of(world_, decode_);
    where.emplace_back("level", level);
    context_.json.add({decode_.table, where, name, unit, value, note});
  }

  void report(const Contender& contender) {
    for (size_t level = 0; decode_.by_level && level < contender.level_us.size(); ++level)
      add(contender.entry->name, "us", summarise(contender.level_us[level]), std::to_string(level), contender.note);
    const Statistics all = summarise(contender.step_us);
    add(contender.entry->name, "us", all, "all", contender.note);
    StepTimes& times = times_[contender.entry->name];
    times.step = all.median;
    for (const std::vector<double>& samples : contender.level_us) times.levels.push_back(summarise(samples).median);
  }

  // A method's median less that of another, if both took part.
  std::string over(const std::string& name, const std::string& other) const {
    if (!times_.contains(other) || name == other) return "";
    const double difference = times_.at(name).step - times_.at(other).step;
    return (difference < 0 ? "-" : "+") + figure(std::fabs(difference));
  }

  void print() const {
    TextTable table;
    std::vector<std::string> head = {"us per step"};
    for (int32_t level = 0; decode_.by_level && level < shape_.levels; ++level)
      head.push_back("L" + std::to_string(level));
    for (const char* cell : {"decode", "p10", "p90", "p99", "decodes", "x first", "over own", "over fused"})
      head.emplace_back(cell);
    table.row(head);
    for (const Contender& contender : contenders_) {
      const Statistics all = summarise(contender.step_us);
      const std::string name = contender.entry->name;
      std::vector<std::string> cells = {name};
      if (decode_.by_level)
        for (const std::vector<double>& samples : contender.level_us)
          cells.push_back(figure(summarise(samples).median));
      for (const double value : {all.median, all.p10, all.p90, all.p99}) cells.push_back(figure(value));
      cells.push_back(std::to_string(all.runs));
      cells.push_back(figure(all.median / times_.at(contenders_[0].entry->name).step));
      cells.push_back(over(name, contender.entry->unconstrained));
      cells.push_back(over(name, "none"));
      table.row(cells);
    }
    table.print();
    for (const Contender& contender : contenders_)
      if (!contender.note.empty()) std::printf("%s: %s\n", contender.entry->name, contender.note.c_str());
  }

  Context& context_;
  World& world_;
  const DecodeCase& decode_;
  Shape shape_;
  Logits logits_;
  std::unique_ptr<RowModel> model_;
  std::vector<float> lse_;
  std::vector<Contender> contenders_;
  std::map<bool, Trajectory> references_;  // by whether unconstrained
  std::map<std::string, StepTimes> times_;
};

}  // namespace

Shape shape_of(const Catalogue& catalogue, int32_t slots, int32_t beams) {
  Shape shape;
  shape.slots = slots;
  shape.beams = beams;
  shape.levels = catalogue.levels;
  shape.codes = catalogue.codes;
  shape.columns = catalogue.codes;
  shape.ends = catalogue.ends;
  return shape;
}

double StepTimes::mean() const {
  return std::accumulate(levels.begin(), levels.end(), 0.0) / static_cast<double>(levels.size());
}

Case where_of(const World& world, const DecodeCase& decode) {
  Case where = {{"B", int64_t{decode.shape.slots}}, {"M", int64_t{decode.shape.beams}},
                {"V", int64_t{decode.shape.codes}}, {"L", int64_t{decode.shape.levels}},
                {"N", world.catalogue().sids},      {"catalogue", world.catalogue().name},
                {"rows", name_of(decode.source)}};
  if (decode.thread_time) where.emplace_back("time", "processor");
  where.insert(where.end(), decode.more.begin(), decode.more.end());
  return where;
}

std::map<std::string, StepTimes> run_decode(Context& context, World& world, const DecodeCase& decode) {
  return Run(context, world, decode).all();
}

}  // namespace bench
