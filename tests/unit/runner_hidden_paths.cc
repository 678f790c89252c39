// Which path a step from hidden states takes, which rows of weights it reads, and that chunks of columns and threads
// change no bit. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <set>
#include <thread>

#include "runner/hidden/hidden_step.h"
#include "runner_hidden_case.h"

namespace sidbeam::runner::hidden {
namespace {

// Random SIDs of codes that have the columns 0, 1, ... at every level.
void make_catalogue(Case& c, const Codes& codes, int32_t sids, int32_t slots, int32_t beams) {
  c.codes = codes;
  c.offsets.assign(codes.size(), 0);
  c.constraint = fakes::make_constraint(c.runtime.get(), codes, sids, 3);
  c.vocabulary.levels = static_cast<int32_t>(codes.size()), c.vocabulary.offsets = c.offsets.data();
  c.columns = *std::max_element(codes.begin(), codes.end());
  c.config.slots = slots, c.config.beams = beams, c.config.normalization = SIDBEAM_NORMALIZE_VALID;
  c.config.constraint = c.constraint.get(), c.config.vocabulary = &c.vocabulary;
}

struct Children {
  std::vector<int64_t> offsets;
  std::vector<int32_t> columns;

  Children(const Case& c, const handles::Session& session)
      : offsets(static_cast<size_t>(c.rows() + 1)), columns(static_cast<size_t>(c.rows() * c.columns)) {
    EXPECT_EQ(sidbeam_session_children(session.get(), nullptr, 0, 0, static_cast<int64_t>(columns.size()),
                                       offsets.data(), columns.data(), nullptr, nullptr),
              SIDBEAM_OK);
    columns.resize(static_cast<size_t>(offsets.back()));
  }
  int64_t count(int64_t from_row, int64_t to_row) const {
    return offsets[static_cast<size_t>(to_row)] - offsets[static_cast<size_t>(from_row)];
  }
  std::set<int32_t> distinct(int64_t from_row, int64_t to_row) const {
    return {columns.begin() + offsets[static_cast<size_t>(from_row)],
            columns.begin() + offsets[static_cast<size_t>(to_row)]};
  }
};

// Rows of weights, a page each: which ones were read, the hardware says.
class WatchedRows {
 public:
  explicit WatchedRows(const Weights& weights) : columns_(weights.columns), page_(sysconf(_SC_PAGESIZE)) {
    pages_ =
        static_cast<std::byte*>(mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (pages_ == MAP_FAILED) throw std::bad_alloc();
    for (int64_t c = 0; c < columns_; ++c)
      std::memcpy(pages_ + c * page_, weights.values.data() + c * weights.width,
                  static_cast<size_t>(weights.width) * sizeof(float));
    watching_ = this;
    struct sigaction action = {};
    action.sa_sigaction = see;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~WatchedRows() {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(pages_, bytes());
  }
  WatchedRows(const WatchedRows&) = delete;
  WatchedRows& operator=(const WatchedRows&) = delete;

  const void* data() const { return pages_; }
  int64_t row_stride() const { return page_ / static_cast<int64_t>(sizeof(float)); }
  template <class Work>
  std::set<int32_t> read_by(const Work& work) {
    read_count_ = 0;
    mprotect(pages_, bytes(), PROT_NONE);
    work();
    mprotect(pages_, bytes(), PROT_READ);
    return {read_, read_ + read_count_};
  }

 private:
  static constexpr int64_t kMostColumns = 256;

  static void see(int /*signal*/, siginfo_t* info, void* /*context*/) {
    WatchedRows& all = *watching_;
    const int64_t column = (static_cast<std::byte*>(info->si_addr) - all.pages_) / all.page_;
    const bool ours = info->si_addr >= all.pages_ && column < all.columns_ && all.read_count_ < kMostColumns;
    if (!ours) {
      sigaction(SIGSEGV, &all.before_, nullptr);  // where it happens again
      return;
    }
    all.read_[all.read_count_++] = static_cast<int32_t>(column);
    mprotect(all.pages_ + column * all.page_, static_cast<size_t>(all.page_), PROT_READ);
  }
  size_t bytes() const { return static_cast<size_t>(columns_ * page_); }

  static WatchedRows* watching_;
  int64_t columns_, page_;
  std::byte* pages_;
  struct sigaction before_ = {};
  int32_t read_[kMostColumns] = {};
  int64_t read_count_ = 0;
};
WatchedRows* WatchedRows::watching_ = nullptr;

// A catalogue whose SIDs part at the first level, so that later levels have a child or two per beam.
TEST(HiddenPaths, ReadTheRowsOfChildrenAlone) {
  Random random(7);
  Case c;
  make_catalogue(c, {64, 64, 64}, 200, 2, 32);
  Weights weights = make_weights(random, 64, 48, false);
  WatchedRows watched(weights);
  OutputLayer layer;
  layer.weights = static_cast<const std::byte*>(watched.data());
  layer.columns = 64, layer.width = 48, layer.row_bytes = watched.row_stride() * static_cast<int64_t>(sizeof(float));
  layer.break_even = 1.0, layer.row_cost = 2.0;  // not as measured: a test's machine may be busy
  for (const int32_t path : {SIDBEAM_HIDDEN_CHILDREN, SIDBEAM_HIDDEN_FASTEST, SIDBEAM_HIDDEN_PRODUCT}) {
    SCOPED_TRACE(::testing::Message() << "path " << path);
    const handles::Session session = c.session();
    HiddenStep step(default_allocator(), {session.get(), &layer, path, 0, {}});
    int64_t rows = 0;
    for (int32_t level = 0; level < 3; ++level) {
      const Children children(c, session);
      const States states(random, c, weights, false, false);
      sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
      sidbeam_rows hidden =
          sidbeam_rows_dense(states.hidden.data(), SIDBEAM_DTYPE_F32, c.config.slots, c.config.beams, 48);
      const auto read = watched.read_by([&] { step.step(args, hidden); });
      rows += static_cast<int64_t>(read.size());
      if (path == SIDBEAM_HIDDEN_PRODUCT) {
        EXPECT_EQ(read.size(), 64U);
      } else {
        EXPECT_EQ(read, children.distinct(0, c.rows()));
      }
    }
    const sidbeam_hidden_stats stats = step.stats();
    EXPECT_EQ(stats.weight_rows, path == SIDBEAM_HIDDEN_PRODUCT ? 2 * rows : rows);  // children of both slots together
    EXPECT_EQ(stats.weight_bytes, stats.weight_rows * 48 * 4);
  }
}

// By costs that are given, slots whose products cost less in tiles than by themselves are multiplied so.
TEST(HiddenPaths, AreChosenByTheirCosts) {
  Random random(8);
  Case c;
  make_catalogue(c, {24, 24, 24, 24}, 3000, 3, 40);
  const Weights weights = make_weights(random, c.columns, 5, false);
  OutputLayer layer;
  layer.weights = reinterpret_cast<const std::byte*>(weights.values.data());
  layer.columns = weights.columns, layer.width = weights.width, layer.row_bytes = weights.width * 4;
  std::set<int64_t> unions;
  for (const auto& [break_even, row_cost] : {std::pair{1.0, 0.0}, {1.5, 0.0}, {3.0, 0.0}, {3.0, 20.0}, {16.0, 2.0}}) {
    SCOPED_TRACE(::testing::Message() << "break-even " << break_even << ", row cost " << row_cost);
    layer.break_even = break_even, layer.row_cost = row_cost;
    const handles::Session session = c.session();
    HiddenStep step(default_allocator(), {session.get(), &layer, SIDBEAM_HIDDEN_FASTEST, 0, {}});
    const handles::Session other = c.session();
    HiddenStep product(default_allocator(), {other.get(), &layer, SIDBEAM_HIDDEN_PRODUCT, 0, {}});
    int64_t by_union = 0, by_pair = 0, products = 0;
    for (size_t level = 0; level < c.codes.size(); ++level) {
      const Children children(c, session);
      for (int64_t slot = 0; slot < c.config.slots; ++slot) {
        const int64_t from = slot * c.config.beams, to = from + c.config.beams, pairs = children.count(from, to);
        int64_t fed = 0;
        for (int64_t row = from; row < to; ++row) fed += children.count(row, row + 1) > 0 ? 1 : 0;
        const auto columns = static_cast<int64_t>(children.distinct(from, to).size()), cells = fed * columns;
        const double cost = static_cast<double>(cells) + row_cost * static_cast<double>(columns);
        const bool in_tiles = cost <= break_even * static_cast<double>(pairs);
        ++(in_tiles ? by_union : by_pair);
        products += in_tiles ? cells : pairs;
      }
      const States states(random, c, weights, false, false);
      sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
      sidbeam_rows rows =
          sidbeam_rows_dense(states.hidden.data(), SIDBEAM_DTYPE_F32, c.config.slots, c.config.beams, 5);
      step.step(args, rows);
      product.step(args, rows);
      expect_same_beams(c, session, other, "product");
      EXPECT_EQ(step.stats().union_slots, by_union);
      EXPECT_EQ(step.stats().child_slots, by_pair);
      EXPECT_EQ(step.stats().products, products);
    }
    unions.insert(by_union);
  }
  EXPECT_GT(unions.size(), 2U);
}

void run_on_threads(void* /*context*/, int32_t count, void (*task)(void* data, int32_t i), void* data) {
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < count; ++i) threads.emplace_back(task, data, i);
  for (std::thread& thread : threads) thread.join();
}

// So many beams that their hidden states do not fit a second-level cache of 2 MiB, nor do the weights: whatever it has,
// the columns are taken in several chunks.
TEST(HiddenPaths, ChunksOfColumnsAndThreadsGiveTheBitsOfProducts) {
  Random random(11);
  Case c;
  make_catalogue(c, {512, 512}, 30000, 2, 300);
  const Weights weights = make_weights(random, 512, 1024, false);
  const Layer layer = weights.layer();
  std::vector<float> states(static_cast<size_t>(c.rows() * weights.width));
  for (float& state : states) state = random.real();
  struct Run {
    const char* name;
    handles::Session session;
    Hidden hidden;
  };
  std::vector<Run> runs;
  const auto add = [&](const char* name, int32_t path, int32_t threads) {
    handles::Session session = c.session();
    sidbeam_hidden_config config = SIDBEAM_HIDDEN_CONFIG_INIT;
    config.session = session.get(), config.layer = layer.get(), config.path = path;
    config.threads = threads, config.execute = run_on_threads;
    sidbeam_hidden* made = nullptr;
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    check(sidbeam_hidden_create(&config, &made, &error), error);
    runs.push_back({name, std::move(session), Hidden(made)});
  };
  add("product", SIDBEAM_HIDDEN_PRODUCT, 1);
  add("product, 3 threads", SIDBEAM_HIDDEN_PRODUCT, 3);
  add("children", SIDBEAM_HIDDEN_CHILDREN, 1);
  add("children, 3 threads", SIDBEAM_HIDDEN_CHILDREN, 3);
  add("fastest, 3 threads", SIDBEAM_HIDDEN_FASTEST, 3);
  const sidbeam_rows rows =
      sidbeam_rows_dense(states.data(), SIDBEAM_DTYPE_F32, c.config.slots, c.config.beams, weights.width);
  sidbeam_hidden_step_args args = SIDBEAM_HIDDEN_STEP_ARGS_INIT;
  args.hidden = &rows;
  for (int32_t level = 0; level < 2; ++level) {
    for (const Run& run : runs) ASSERT_EQ(sidbeam_hidden_step(run.hidden.get(), &args, nullptr), SIDBEAM_OK);
    for (const Run& run : runs) expect_same_beams(c, run.session, runs[0].session, run.name);
  }
  EXPECT_EQ(beams_of(runs[0].session).live[1], 300);
  EXPECT_EQ(stats_of(runs[2].hidden).child_slots, 4);
}

}  // namespace
}  // namespace sidbeam::runner::hidden
