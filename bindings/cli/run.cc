// sidbeam run: histories in, items out, by a model of its own folder.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/runner.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "beams.h"
#include "commands.h"
#include "interrupt.h"
#include "options.h"
#include "prompts.h"
#include "run_options.h"
#include "search_input.h"

namespace cli {
namespace {

using Model = std::unique_ptr<sidbeam_model, Release<sidbeam_model_release>>;
using Head = std::unique_ptr<sidbeam_draft_head, Release<sidbeam_draft_head_release>>;
using Runner = std::unique_ptr<sidbeam_runner, Release<sidbeam_runner_destroy>>;

int32_t weights_of(const std::string& name) {
  const auto found = std::find(kWeights.begin(), kWeights.end(), name);
  return static_cast<int32_t>(found - kWeights.begin());  // in the order of SIDBEAM_WEIGHTS_*
}

// `option` is the one that gives `base`; the library calls it config.base, and NULL where it is not given.
Model open_model(const std::string& folder, const std::string& base, const std::string& option, const RunOptions& o) {
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  config.weights = weights_of(o.weights);
  config.base = base.empty() ? nullptr : base.c_str();
  config.log = [](void*, int32_t, const char* message) { std::fprintf(stderr, "sidbeam run: warning: %s\n", message); };
  sidbeam_model* model = nullptr;
  try {
    call_about(folder, sidbeam_model_open, folder.c_str(), &config, &model);
  } catch (const LibraryFailure& failure) {
    std::string what = failure.what();
    for (const auto& [theirs, ours] : {std::pair<std::string, std::string>{"config.base", option}, {"NULL", "none"}})
      if (const size_t at = what.find(theirs); at != what.npos) what.replace(at, theirs.size(), ours);
    throw LibraryFailure(failure.status, what);
  }
  return Model(model);
}

sidbeam_model_info model_info(const sidbeam_model* model) {
  sidbeam_model_info info = SIDBEAM_MODEL_INFO_INIT;
  call(sidbeam_model_get_info, model, &info);
  return info;
}

Head open_head(const std::string& path) {
  sidbeam_draft_head* head = nullptr;
  call_about(path, sidbeam_draft_head_open, path.c_str(), nullptr, &head);
  return Head(head);
}

int32_t strategy_of(const std::string& verification) {
  if (verification == "hash") return SIDBEAM_STRATEGY_HASH_FINAL;
  return verification == "none" ? SIDBEAM_STRATEGY_NONE : SIDBEAM_STRATEGY_TRIE;
}

std::vector<Prompt> prompts_of(const RunOptions& o, Histories& histories) {
  if (!o.input.empty()) return read_prompts(o.input, histories);
  if (!o.history.empty()) return {prompt_of_history("--history", o.history, histories)};
  return {prompt_of_tokens("--tokens", o.tokens)};
}

// Requests side by side, each on a thread of its own; the results in their order.
class Runs {
 public:
  Runs(const RunOptions& o, sidbeam_index* index, const sidbeam_index_info& info, const Vocabulary& vocabulary,
       std::vector<Prompt> prompts)
      : o_(o),
        index_(index),
        info_(info),
        prompts_(std::move(prompts)),
        rules_(o.rules, index, info.id_type, static_cast<int64_t>(prompts_.size())),
        widths_(parse_widths(o.widths, o.beams, info.levels)),
        texts_(prompts_.size()) {
    const auto most = static_cast<int32_t>(std::min<size_t>(prompts_.size(), SIDBEAM_MAX_BEAMS));
    const int32_t threads = o.threads > 0 ? o.threads : static_cast<int32_t>(std::thread::hardware_concurrency());
    lanes_ = std::clamp(threads, 1, most);
    make_runner(vocabulary);
  }

  const std::vector<std::string>& run() {
    catch_interrupts("");
    std::vector<std::thread> threads;
    threads.reserve(static_cast<size_t>(lanes_));
    try {
      for (int32_t i = 0; i < lanes_; ++i) threads.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      if (threads.empty()) throw;  // otherwise those that the system gave do the work
    }
    watch(threads.size());
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    if (done_ < texts_.size())
      throw Failure("cancelled after " + with_commas(static_cast<int64_t>(done_)) + " of " +
                    with_commas(static_cast<int64_t>(texts_.size())) + " requests");
    return texts_;
  }

 private:
  bool relaxed() const { return o_.speculate == "relaxed"; }

  void make_runner(const Vocabulary& vocabulary) {
    const std::vector<int32_t> begin = parse_list("--begin-tokens", o_.begin_tokens, 0, INT32_MAX);
    const Model model = open_model(o_.model, o_.base, "--base", o_);
    const Model draft = o_.draft.empty() ? nullptr : open_model(o_.draft, o_.draft_base, "--draft-base", o_);
    const std::vector<int32_t> placeholders = parse_list("--placeholders", o_.placeholders, 0, INT32_MAX);
    const Head head = o_.head.empty() ? nullptr : open_head(o_.head);
    const Runtime runtime = make_runtime(1);
    sidbeam_constraint_config whole = SIDBEAM_CONSTRAINT_CONFIG_INIT;
    whole.index = index_;
    sidbeam_constraint* constraint = nullptr;
    call(sidbeam_constraint_create, &whole, &constraint);
    const Constraint owner(constraint);
    sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
    config.beams = o_.beams;
    config.model = model.get();
    config.constraint = constraint;
    config.vocabulary = vocabulary.view();
    config.begin_tokens = begin.empty() ? nullptr : begin.data();
    config.begin_count = static_cast<int64_t>(begin.size());
    config.normalization = normalization_of(o_.normalize);
    config.max_group = o_.group;
    config.max_prompt = longest_prompt(config.begin_count, {{"model", model.get()}, {"draft", draft.get()}});
    config.draft = draft.get();
    config.draft_beams = o_.draft_beams;
    if (relaxed()) config.speculate = SIDBEAM_SPECULATE_RELAXED;
    config.without_replacement = relaxed() && o_.draft_beams > o_.beams ? 1 : 0;
    config.head = head.get();
    config.placeholders = placeholders.empty() ? nullptr : placeholders.data();
    config.placeholder_count = static_cast<int64_t>(placeholders.size());
    config.strategy = strategy_of(o_.verify);
    config.top_k = o_.top_k;
    config.lanes = lanes_;
    sidbeam_runner* runner = nullptr;
    call(sidbeam_runner_create, runtime.get(), &config, &runner);
    runner_.reset(runner);
  }

  // Refuses a prompt that is nothing, or that a model has no room for: the runner would know neither its place nor the
  // option.
  int64_t longest_prompt(int64_t begin_count, const std::map<std::string, const sidbeam_model*>& models) const {
    int64_t longest = 1;
    const int64_t behind = o_.head.empty() ? info_.levels - 1 : info_.levels;  // codes, or placeholders
    for (const Prompt& prompt : prompts_) {
      if (prompt.tokens.empty() && begin_count == 0)
        throw Failure(prompt.place + ": no tokens, expected one position or more, or --begin-tokens");
      const int64_t positions = static_cast<int64_t>(prompt.tokens.size()) / o_.group;
      for (const auto& [name, model] : models)
        if (model != nullptr) check_room(prompt, positions, begin_count + behind, name, model_info(model));
      longest = std::max(longest, positions);
    }
    return longest;
  }

  static void check_room(const Prompt& prompt, int64_t positions, int64_t after, const std::string& name,
                         const sidbeam_model_info& model) {
    if (model.encoder_layers > 0 || model.max_positions == 0 || positions <= model.max_positions - after) return;
    throw Failure(prompt.place + ": " + with_commas(positions) + " positions, and " + with_commas(after) +
                  " follow, but the " + name + " has " + with_commas(model.max_positions));
  }

  // A thread: takes requests until there are none, one fails or the user has had enough.
  void work() {
    try {
      for (size_t i = 0; !interrupted() && !stop_ && (i = next_++) < prompts_.size();) {
        texts_[i] = run_one(i);
        const std::lock_guard lock(mutex_);
        ++done_;
        changed_.notify_one();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      stop_ = true;
    }
    const std::lock_guard lock(mutex_);
    ++ended_;
    changed_.notify_one();
  }

  std::string run_one(size_t i) const {
    const Prompt& prompt = prompts_[i];
    if (prompt.tokens.size() % static_cast<size_t>(o_.group) != 0) {
      throw Failure(prompt.place + ": " + std::to_string(prompt.tokens.size()) + " tokens, expected a multiple of " +
                    std::to_string(o_.group) + " (--group)");
    }
    struct Taken {
      const Runs* runs;
      Found found;
      bool done;
    } taken{this, {static_cast<int64_t>(i), false, {}}, false};
    const Constraint constraint = rules_.of(static_cast<int64_t>(i));
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.constraint = constraint.get();
    request.tokens = prompt.tokens.data();
    request.positions = static_cast<int64_t>(prompt.tokens.size()) / o_.group;
    request.group = o_.group;
    if (relaxed()) request.seed = o_.seed, request.sampling_request = static_cast<int64_t>(i);
    request.widths = widths_.empty() ? nullptr : widths_.data();
    request.width_levels = static_cast<int32_t>(widths_.size());
    request.context = &taken;
    request.done = [](void* context, const sidbeam_result* result) {
      auto& to = *static_cast<Taken*>(context);
      to.done = true;
      to.runs->keep(*result, to.found);
    };
    try {
      call(sidbeam_runner_run, runner_.get(), &request);
    } catch (const LibraryFailure& failure) {
      taken.found.bad_row = taken.done && failure.status == SIDBEAM_INVALID_ARGUMENT;
      if (!taken.found.bad_row) throw Failure(prompt.place + ": " + failure.what());
    }
    if (rules_.given()) taken.found.allowed = allowed_of(constraint.get());
    find_items(index_, constraint.get(), info_.id_type, o_.distinct, o_.cap, taken.found);
    return o_.json ? found_json(taken.found).text() : found_table(taken.found);
  }

  void keep(const sidbeam_result& result, Found& found) const {
    if (!o_.draft.empty()) found.speculation = {result.rounds, result.accepted_levels};
    for (int32_t m = 0; m < result.live; ++m) {
      const int32_t* sid = result.sids + static_cast<std::ptrdiff_t>(m) * result.levels;
      found.beams.push_back({{sid, std::find(sid, sid + result.levels, -1)}, result.ordinals[m], result.scores[m], {}});
    }
  }

  // The bar, until all threads have ended.
  void watch(size_t threads) {
    Progress progress;
    std::unique_lock lock(mutex_);
    while (ended_ < threads) {
      changed_.wait(lock);
      if (texts_.size() > 1) progress.show("running", static_cast<int64_t>(done_), static_cast<int64_t>(texts_.size()));
    }
  }

  const RunOptions& o_;
  sidbeam_index* index_;
  const sidbeam_index_info& info_;
  std::vector<Prompt> prompts_;
  Rules rules_;
  std::vector<int32_t> widths_;     // of each level; none: M
  std::vector<std::string> texts_;  // by request, once it is done
  int32_t lanes_ = 1;
  Runner runner_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t done_ = 0;
  size_t ended_ = 0;
  std::exception_ptr failure_;
};

}  // namespace

void run_model(const RunOptions& o) {
  const Index index = open_index(o.index);
  const sidbeam_index_info info = index_info(index.get());
  const Vocabulary vocabulary(o.vocabulary, o.index, info);
  Histories histories(index.get(), info, vocabulary, o.group,
                      parse_list("--start-tokens", o.start_tokens, -1, INT32_MAX));
  Runs runs(o, index.get(), info, vocabulary, prompts_of(o, histories));
  const Stopwatch watch;
  const std::vector<std::string>& texts = runs.run();
  const double seconds = watch.seconds();
  std::string out = document(texts, o.json);
  if (!o.input.empty() && !o.json) {
    const auto count = static_cast<int64_t>(texts.size());
    out += "\n" + with_commas(count) + " requests in " + fixed(seconds, 2) + " s, " +
           fixed(static_cast<double>(count) / seconds, 1) + " a second\n";
  }
  print(out);
}

}  // namespace cli
