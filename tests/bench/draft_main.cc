// bench_draft: NEZHA's decode beside its products, and the verification of its last level by hash set and by trie.
//
//   bench_draft [--list] [--table decode,verify] [--quick] [--json FILE]
//
// 1e7 random SIDs of three codes below 2048, random logits or weights: of a beam's 2048 codes two or three exist, so
// that no candidate is spared a lookup. Processor time of one thread, least of the runs; everything takes turns.
//   decode  B=8, M=512, D=512, RNN: sidbeam_draft_decoder_run by each verification, and its products alone (those of
//           recurrent weights with as many parents as the beams have without verification)
//   verify  the step of the last level alone: by hash set, by trie, and unconstrained, whose difference to the first
//           is the verification's
// --quick: small sizes, one run. --json appends one measurement per line. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>

#include "../handles.h"
#include "context.h"
#include "program.h"
#include "runner/math/product.h"
#include "sidbeam/draft.h"

namespace bench {
namespace {

using namespace sidbeam::runner;

using Head = std::unique_ptr<sidbeam_draft_head, handles::Releaser<sidbeam_draft_head_release>>;
using Decoder = std::unique_ptr<sidbeam_draft_decoder, handles::Releaser<sidbeam_draft_decoder_destroy>>;

constexpr int32_t kLevels = 3, kCodes = 2048;

void check(sidbeam_status status, const sidbeam_error& error) {
  if (status != SIDBEAM_OK) throw std::runtime_error(error.message);
}

struct Shape {
  int64_t sids;
  int32_t requests, beams, width, top_k;
};

std::vector<float> random_floats(int64_t count, float scale, uint32_t state) {
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    state = state * 1664525U + 1013904223U;
    value = (static_cast<float>(state >> 8) * 0x1p-24F - 0.5F) * scale;
  }
  return values;
}

handles::Runtime make_runtime() {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_runtime_config config = SIDBEAM_RUNTIME_CONFIG_INIT;
  config.threads = 1;
  sidbeam_runtime* made = nullptr;
  check(sidbeam_runtime_create(&config, &made, &error), error);
  return handles::Runtime(made);
}

handles::Index make_index(sidbeam_runtime* runtime, int32_t levels, int64_t sids) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  const std::vector<int32_t> codes(static_cast<size_t>(levels), kCodes);
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  config.levels = levels, config.codes = codes.data(), config.kinds = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_HASH;
  sidbeam_builder* builder = nullptr;
  check(sidbeam_builder_create(runtime, &config, &builder, &error), error);
  const handles::Builder owned(builder);
  std::mt19937_64 random(5);
  std::vector<int32_t> batch;
  for (int64_t i = 0; i < sids; ++i) {
    for (int32_t l = 0; l < levels; ++l) batch.push_back(static_cast<int32_t>(random() % kCodes));
    if (i + 1 < sids && batch.size() < 3'000'000) continue;
    const auto count = static_cast<int64_t>(batch.size()) / levels;
    check(sidbeam_builder_add(builder, batch.data(), nullptr, count, nullptr, nullptr, &error), error);
    batch.clear();
  }
  sidbeam_index* index = nullptr;
  check(sidbeam_builder_finish(builder, &index, &error), error);
  return handles::Index(index);
}

template <class Work>
void time(const Work& work, double& least) {
  const double begin = thread_microseconds();
  work();
  least = std::min(least, thread_microseconds() - begin);
}

// A head of random weights; the levels of two heads are the same as far as both go.
Head make_head(int32_t levels, int32_t width) {
  const std::vector<int32_t> codes(static_cast<size_t>(levels), kCodes);
  std::vector<float> arrays[4];
  const int64_t sizes[] = {int64_t{kCodes} * 2 * width, int64_t{kCodes} * width, int64_t{width} * width,
                           int64_t{width} * width};
  std::vector<const void*> lists[4];
  for (uint32_t kind = 0; kind < 4; ++kind) {
    arrays[kind] = random_floats(sizes[kind], kind == 0 ? 0.3F : 0.1F, 100 + kind);
    lists[kind].assign(static_cast<size_t>(levels), arrays[kind].data());
  }
  sidbeam_draft_weights weights = SIDBEAM_DRAFT_WEIGHTS_INIT;
  weights.levels = levels, weights.hidden = width, weights.codes = codes.data();
  weights.head_weights = lists[0].data(), weights.embeddings = lists[1].data();
  weights.input_weights = lists[2].data(), weights.recurrent_weights = lists[3].data();
  const std::string path =
      (std::filesystem::temp_directory_path() / ("bench_draft_" + std::to_string(rand()))).string();
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check(sidbeam_draft_head_write(path.c_str(), &weights, &error), error);
  sidbeam_draft_head* head = nullptr;
  const sidbeam_status status = sidbeam_draft_head_open(path.c_str(), nullptr, &head, &error);
  std::filesystem::remove(path);
  check(status, error);
  return Head(head);
}

Decoder make_decoder(sidbeam_runtime* runtime, const Shape& shape, sidbeam_draft_head* head, sidbeam_index* index,
                     int32_t verification) {
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_draft_config config = SIDBEAM_DRAFT_CONFIG_INIT;
  config.requests = shape.requests, config.beams = shape.beams, config.verification = verification;
  config.head = head, config.index = index;
  sidbeam_draft_decoder* made = nullptr;
  check(sidbeam_draft_decoder_create(runtime, &config, &made, &error), error);
  return Decoder(made);
}

sidbeam_draft_result run_decoder(const Decoder& decoder, const std::vector<float>& hidden, const Shape& shape) {
  const sidbeam_rows rows =
      sidbeam_rows_dense(hidden.data(), SIDBEAM_DTYPE_F32, shape.requests, kLevels + 1, shape.width);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &rows;
  check(sidbeam_draft_decoder_run(decoder.get(), &args, &result, &error), error);
  return result;
}

// The decode's products with weights, by the numbers of rows that they have there.
class Products {
 public:
  explicit Products(const Shape& shape, int64_t parents)
      : shape_(shape),
        parents_(parents),
        weights_(random_floats(int64_t{kCodes} * shape.width, 0.1F, 1)),
        x_(random_floats(rows() * shape.width, 1.0F, 2)),
        y_(static_cast<size_t>(rows() * std::max(kCodes, shape.width))) {
    head_ = pack_matrix(sidbeam::default_allocator(), Tensor{weights_.data(), Dtype::kF32, kCodes, shape.width},
                        Dtype::kF32);
    recurrent_ = pack_matrix(sidbeam::default_allocator(),
                             Tensor{weights_.data(), Dtype::kF32, shape.width, shape.width}, Dtype::kF32);
  }
  void run() {
    for (int32_t level = 0; level < kLevels; ++level) {
      multiply_by(head_, shape_.requests);                        // with h_l
      multiply_by(head_, level == 0 ? shape_.requests : rows());  // with s_l
      if (level > 0) multiply_by(recurrent_, level == 1 ? shape_.requests : parents_);
    }
  }

 private:
  int64_t rows() const { return int64_t{shape_.requests} * shape_.beams; }
  void multiply_by(const Matrix& matrix, int64_t count) {
    Workers workers;
    workers.target = sidbeam::best_cpu_target();
    multiply(workers, ConstRows(x_.data(), count, shape_.width), matrix, Rows(y_.data(), count, matrix.outputs));
  }

  Shape shape_;
  int64_t parents_;
  std::vector<float> weights_, x_, y_;
  Matrix head_, recurrent_;
};

// The distinct beams of the first level that the second level's continue.
int64_t count_parents(sidbeam_runtime* runtime, const Shape& shape, const std::vector<float>& hidden) {
  const handles::Index index = make_index(runtime, 2, 1);
  const Head head = make_head(2, shape.width);
  std::vector<float> shorter;  // without the last placeholder
  for (int64_t i = 0; i < shape.requests; ++i) {
    const auto begin = hidden.begin() + i * (kLevels + 1) * shape.width;
    shorter.insert(shorter.end(), begin, begin + int64_t{kLevels} * shape.width);
  }
  const Decoder decoder = make_decoder(runtime, shape, head.get(), index.get(), SIDBEAM_DRAFT_VERIFY_NONE);
  const sidbeam_rows rows = sidbeam_rows_dense(shorter.data(), SIDBEAM_DTYPE_F32, shape.requests, kLevels, shape.width);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_draft_args args = SIDBEAM_DRAFT_ARGS_INIT;
  sidbeam_draft_result result = SIDBEAM_DRAFT_RESULT_INIT;
  args.hidden = &rows;
  check(sidbeam_draft_decoder_run(decoder.get(), &args, &result, &error), error);
  std::set<std::pair<int64_t, int32_t>> parents;
  for (int64_t beam = 0; beam < int64_t{shape.requests} * shape.beams; ++beam)
    parents.insert({beam / shape.beams, result.sids[beam * 2]});
  return static_cast<int64_t>(parents.size());
}

Shape shape_of(const TableOptions& options, int64_t sids) {
  return options.quick ? Shape{20000, 2, 16, 32, 16} : Shape{sids, 8, 512, 512, 512};
}

void decode(const TableOptions& options, const Shape& shape, Measurements& all) {
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = make_index(runtime.get(), kLevels, shape.sids);
  const Head head = make_head(kLevels, shape.width);
  const std::vector<float> hidden = random_floats(int64_t{shape.requests} * (kLevels + 1) * shape.width, 2.0F, 7);
  const int64_t parents = count_parents(runtime.get(), shape, hidden);
  Products products(shape, parents);
  const std::pair<const char*, int32_t> ways[] = {
      {"none", SIDBEAM_DRAFT_VERIFY_NONE}, {"trie", SIDBEAM_DRAFT_VERIFY_TRIE}, {"hash", SIDBEAM_DRAFT_VERIFY_HASH}};
  Decoder decoders[3];
  double least[4];
  std::fill(least, least + 4, std::numeric_limits<double>::infinity());
  int64_t found = 0;
  for (int i = 0; i < 3; ++i) decoders[i] = make_decoder(runtime.get(), shape, head.get(), index.get(), ways[i].second);
  for (int run = 0; run < (options.quick ? 1 : 7); ++run) {
    time([&] { products.run(); }, least[3]);
    for (int i = 0; i < 3; ++i) {
      sidbeam_draft_result result;
      time([&] { result = run_decoder(decoders[i], hidden, shape); }, least[i]);
      found = 0;
      for (int32_t r = 0; r < shape.requests; ++r) found += result.live[r];
    }
  }
  const Case where = {{"SIDs", shape.sids},
                      {"V", int64_t{kCodes}},
                      {"D", int64_t{shape.width}},
                      {"B", int64_t{shape.requests}},
                      {"M", int64_t{shape.beams}}};
  all.push_back({"decode", where, "products", "ms", exactly(least[3] / 1000), ""});
  for (int i = 0; i < 3; ++i) {
    all.push_back({"decode", where, ways[i].first, "ms", exactly(least[i] / 1000), ""});
    all.push_back({"decode", where, std::string(ways[i].first) + " / products", "", exactly(least[i] / least[3]), ""});
  }
  all.push_back({"decode", where, "found by hash", "", exactly(static_cast<double>(found)), "SIDs of all requests"});
  all.push_back({"decode", where, "parents", "", exactly(static_cast<double>(parents)), "of the last level's rows"});
}

Measurements decode_table(const TableOptions& options) {
  Measurements all;
  for (const int64_t sids : {1'000'000, 10'000'000}) {
    decode(options, shape_of(options, sids), all);
    if (options.quick) break;
  }
  return all;
}

// A session that is stepped to its last level, over rows of random logits.
class Search {
 public:
  Search(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape, int32_t strategy,
         const std::vector<float>& logits)
      : shape_(shape), logits_(logits) {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam_session_config config = SIDBEAM_SESSION_CONFIG_INIT;
    config.slots = shape.requests, config.beams = shape.beams, config.strategy = strategy;
    config.top_k = shape.top_k, config.constraint = constraint;
    sidbeam_session* made = nullptr;
    check(sidbeam_session_create(runtime, &config, &made, &error), error);
    session_.reset(made);
  }
  void to_last_level() {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam_start_args start = SIDBEAM_START_ARGS_INIT;
    check(sidbeam_session_start(session_.get(), &start, &error), error);
    for (int32_t level = 0; level + 1 < kLevels; ++level) step();
  }
  void step() {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    const sidbeam_rows rows =
        sidbeam_rows_dense(logits_.data(), SIDBEAM_DTYPE_F32, shape_.requests, shape_.beams, kCodes);
    sidbeam_step_args args = SIDBEAM_STEP_ARGS_INIT;
    args.rows = &rows;
    check(sidbeam_session_step(session_.get(), &args, &error), error);
  }
  int64_t rows_read() const {
    sidbeam_stats stats = SIDBEAM_STATS_INIT;
    check(sidbeam_session_get_stats(session_.get(), &stats, nullptr), sidbeam_error());
    return stats.rows_read;
  }

 private:
  Shape shape_;
  const std::vector<float>& logits_;
  handles::Session session_;
};

void verify(sidbeam_runtime* runtime, sidbeam_constraint* constraint, const Shape& shape, int runs, Measurements& all) {
  const std::vector<float> logits = random_floats(int64_t{shape.requests} * shape.beams * kCodes, 4.0F, 9);
  const std::pair<const char*, int32_t> ways[] = {
      {"none", SIDBEAM_STRATEGY_NONE}, {"trie", SIDBEAM_STRATEGY_TRIE}, {"hash", SIDBEAM_STRATEGY_HASH_FINAL}};
  std::vector<Search> searches;
  for (const auto& [name, strategy] : ways) searches.emplace_back(runtime, constraint, shape, strategy, logits);
  double least[3];
  std::fill(least, least + 3, std::numeric_limits<double>::infinity());
  int64_t rows = 0;
  for (int run = 0; run < runs; ++run) {
    for (size_t i = 0; i < 3; ++i) {
      searches[i].to_last_level();
      const int64_t before = searches[i].rows_read();
      time([&] { searches[i].step(); }, least[i]);
      rows = searches[i].rows_read() - before;
    }
  }
  const Case where = {
      {"SIDs", shape.sids}, {"B", int64_t{shape.requests}}, {"M", int64_t{shape.beams}}, {"K", int64_t{shape.top_k}}};
  for (size_t i = 0; i < 3; ++i) all.push_back({"verify", where, ways[i].first, "us", exactly(least[i]), ""});
  const auto keys = static_cast<double>(rows * shape.top_k);
  all.push_back({"verify", where, "hash - none", "us", exactly(least[2] - least[0]), ""});
  all.push_back({"verify", where, "keys", "", exactly(keys), "of the rows that were read"});
  all.push_back({"verify", where, "(hash - none) / key", "ns", exactly(1000 * (least[2] - least[0]) / keys), ""});
  all.push_back({"verify", where, "hash / key", "ns", exactly(1000 * least[2] / keys), ""});
}

Measurements verify_table(const TableOptions& options) {
  const Shape shape = shape_of(options, 10'000'000);
  const handles::Runtime runtime = make_runtime();
  const handles::Index index = make_index(runtime.get(), kLevels, shape.sids);
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  sidbeam_constraint_config config = SIDBEAM_CONSTRAINT_CONFIG_INIT;
  config.index = index.get();
  sidbeam_constraint* made = nullptr;
  check(sidbeam_constraint_create(&config, &made, &error), error);
  const handles::Constraint constraint(made);
  Measurements all;
  verify(runtime.get(), made, {shape.sids, 1, 10, 0, 10}, options.quick ? 1 : 300, all);
  verify(runtime.get(), made, shape, options.quick ? 1 : 9, all);
  return all;
}

constexpr TableOf<TableOptions> kTables[] = {
    {"decode", "NEZHA's decode beside its products", decode_table},
    {"verify", "the last level by hash set, by trie and unconstrained", verify_table},
};

int run(int argc, char** argv) {
  TableOptions options;
  options.parse(argc, argv);
  return run_tables<TableOptions>(kTables, options, options);
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::run_program("bench_draft", [&] { return bench::run(argc, argv); });
}
