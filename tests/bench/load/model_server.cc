// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <vector>

#include "../../random_constraint.h"
#include "servers.h"

namespace bench {
namespace {

using handles::check;

class ModelServer final : public Server {
 public:
  ModelServer(const Served& served, const ServerSettings& settings) {
    // The catalogue: 100,000 SIDs of 256 codes per level. Without it, four of all tokens, as engines search that know
    // of none.
    static const int64_t offsets[kLevels] = {50, 306, 562, 818};
    const std::vector<int32_t> codes(kLevels, settings.valid ? 256 : kTokens);
    constraint_ = handles::make_constraint(runtime_.get(), codes, settings.valid ? 100000 : 1000, 7);
    sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
    vocabulary.levels = kLevels, vocabulary.offsets = settings.valid ? offsets : nullptr;
    sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
    config.model = served.model, config.constraint = constraint_.get(), config.vocabulary = &vocabulary;
    config.beams = served.beams, config.max_prompt = served.positions, config.queue_requests = served.queue_requests;
    config.strategy = settings.valid ? SIDBEAM_STRATEGY_TRIE : SIDBEAM_STRATEGY_NONE;
    config.normalization = SIDBEAM_NORMALIZE_FULL;  // in either case: the constraint is all that differs
    config.batch_requests = settings.batch, config.lanes = settings.lanes, config.lane_threads = 1;
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    sidbeam_runner* runner = nullptr;
    check(sidbeam_runner_create(runtime_.get(), &config, &runner, &error), error);
    runner_.reset(runner);
  }

  sidbeam_status submit(const sidbeam_request& request) override {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    const sidbeam_status status = sidbeam_runner_submit(runner_.get(), &request, nullptr, &error);
    if (status != SIDBEAM_QUEUE_FULL) check(status, error);
    return status;
  }
  void run(const sidbeam_request& request) override {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    check(sidbeam_runner_run(runner_.get(), &request, &error), error);
  }
  void drain() override {
    sidbeam_error error = SIDBEAM_ERROR_INIT;
    check(sidbeam_runner_drain(runner_.get(), 0, nullptr, &error), error);
  }

 private:
  handles::Runtime runtime_ = handles::make_runtime();
  handles::Constraint constraint_;
  std::unique_ptr<sidbeam_runner, handles::Releaser<sidbeam_runner_destroy>> runner_;
};

}  // namespace

std::unique_ptr<Server> serve_model(const Served& served, const ServerSettings& settings) {
  return std::make_unique<ModelServer>(served, settings);
}

}  // namespace bench
