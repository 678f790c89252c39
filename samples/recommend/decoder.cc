// SPDX-License-Identifier: Apache-2.0
#include "decoder.h"

#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace recommend {
namespace {

using Runner = Handle<sidbeam_runner, sidbeam_runner_destroy>;

int32_t integer(const simdjson::dom::element& object, const char* name) {
  return static_cast<int32_t>(int64_t(object[name]));
}

// [positions, group] tokens of a prompt: the beginning, then the latest items.
std::vector<int32_t> tokens_of(const Decoder& decoder, const Dataset& data, const std::vector<int32_t>& history) {
  std::vector<int32_t> tokens(static_cast<size_t>(decoder.group), -1);
  tokens[0] = decoder.begin;
  const auto from = history.end() - std::min<ptrdiff_t>(std::ssize(history), decoder.items);
  for (auto item = from; item != history.end(); item++)
    for (int32_t l = 0; l < decoder.levels; l++)
      tokens.push_back(l * decoder.codes + data.sids[static_cast<size_t>(*item)][static_cast<size_t>(l)]);
  return tokens;
}

// One request. Its arrays are sized at the first level and kept.
struct Request {
  const Transitions* transitions = nullptr;
  Weights weights;                   // of the transition model
  std::vector<int32_t> prefixes;     // [M, L] codes of each beam
  std::vector<double> joint;         // [M] log P_decoder(prefix)
  std::vector<double> continuation;  // [M, columns] of each beam and code of the level before
  std::vector<double> mass;          // [columns]
  Answer answer;
};

// What the beams of this level have become: their prefixes, and the decoder's probability of each.
void follow(Request& request, const sidbeam_level& level) {
  const auto width = static_cast<size_t>(level.beams->beams), levels = static_cast<size_t>(level.beams->levels);
  const auto columns = static_cast<size_t>(request.transitions->columns);
  if (level.level == 0) {
    request.prefixes.assign(width * levels, 0);
    request.joint.assign(width, 0.0);
    request.continuation.assign(width * columns, 0.0);
    return;
  }
  const std::vector<int32_t> before = request.prefixes;
  for (int64_t row = 0; row < level.rows; row++) {
    const auto beam = static_cast<size_t>(level.row_beams[row]);
    const size_t at = static_cast<size_t>(level.slot) * width + beam;
    const auto parent = static_cast<size_t>(level.beams->parents[at]);
    const int32_t code = level.beams->codes[at];
    std::copy_n(&before[parent * levels], levels, &request.prefixes[beam * levels]);
    request.prefixes[beam * levels + static_cast<size_t>(level.level) - 1] = code;
    request.joint[beam] = request.continuation[parent * columns + static_cast<size_t>(code)];
  }
}

double log_sum_exp(const float* logits, size_t count) {
  const double largest = *std::max_element(logits, logits + count);
  double sum = 0;
  for (size_t t = 0; t < count; t++) sum += std::exp(logits[t] - largest);
  return largest + std::log(sum);
}

// Turns the decoder's logits into the interpolation's log-probabilities: what a beam's score is to become, less what it
// is.
int32_t interpolate(void*, const sidbeam_level* level) {
  Request& request = *static_cast<Request*>(level->request_context);
  follow(request, *level);
  const auto width = static_cast<size_t>(level->beams->beams), levels = static_cast<size_t>(level->beams->levels);
  const auto columns = static_cast<size_t>(request.transitions->columns);
  const std::vector<double> joint = request.joint;
  for (int64_t row = 0; row < level->rows; row++) {
    const auto beam = static_cast<size_t>(level->row_beams[row]);
    float* logits = level->logits + row * level->row_stride + level->columns_of->offsets[level->level];
    masses(*request.transitions, request.weights, &request.prefixes[beam * levels], level->level, request.mass);
    const double score = level->beams->scores[static_cast<size_t>(level->slot) * width + beam];
    const double sum = log_sum_exp(logits, columns);
    for (size_t t = 0; t < columns; t++) {
      const double decoder = joint[beam] + logits[t] - sum;
      request.continuation[beam * columns + t] = decoder;
      const double both = kDecoderShare * std::exp(decoder) + (1 - kDecoderShare) * request.mass[t];
      logits[t] = static_cast<float>(std::log(both) - score);
    }
  }
  return 0;
}

void take(void* context, const sidbeam_result* result) {
  Answer& answer = static_cast<Request*>(context)->answer;
  for (int32_t beam = 0; beam < result->live; beam++) {
    const int32_t* sid = result->sids + static_cast<ptrdiff_t>(beam) * result->levels;
    answer.sids.emplace_back(sid, sid + result->levels);
    answer.ordinals.push_back(result->ordinals[beam]);
  }
}

Runner make_runner(const Decoder& decoder, const Transitions* transitions, const Catalogue& catalogue, int32_t strategy,
                   int32_t beams) {
  std::vector<int64_t> offsets;
  for (int32_t l = 0; l < decoder.levels; l++) offsets.push_back(static_cast<int64_t>(l) * decoder.codes);
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  vocabulary.levels = decoder.levels;
  vocabulary.offsets = offsets.data();
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.beams = beams;
  config.model = decoder.model.get();
  config.constraint = catalogue.constraint.get();
  config.vocabulary = &vocabulary;
  config.normalization = transitions == nullptr ? SIDBEAM_NORMALIZE_LEVEL : SIDBEAM_NORMALIZE_NONE;
  config.strategy = strategy;
  config.max_prompt = 1 + decoder.items * decoder.levels / decoder.group;
  config.max_group = decoder.group;
  if (transitions != nullptr) config.adjust = interpolate;
  sidbeam_runner* runner;
  check(sidbeam_runner_create(catalogue.runtime.get(), &config, &runner, &err));
  return Runner(runner);
}

}  // namespace

Decoder open_decoder(const std::string& folder, bool int8) {
  Decoder decoder{};
  sidbeam_model_config config = SIDBEAM_MODEL_CONFIG_INIT;
  if (int8) config.weights = SIDBEAM_WEIGHTS_INT8;
  sidbeam_model* model;
  check(sidbeam_model_open(folder.c_str(), &config, &model, &err));
  decoder.model = Model(model);
  decoder.info = SIDBEAM_MODEL_INFO_INIT;
  check(sidbeam_model_get_info(model, &decoder.info, &err));
  simdjson::dom::parser parser;
  const simdjson::dom::element input = parser.load(folder + "/config.json")["sidbeam"];
  decoder.levels = integer(input, "levels");
  decoder.codes = integer(input, "codes");
  decoder.begin = integer(input, "begin");
  decoder.group = integer(input, "group");
  decoder.items = integer(input, "items");
  return decoder;
}

std::vector<Answer> run(const Decoder& decoder, const Transitions* transitions, const Catalogue& catalogue,
                        const Dataset& data, int32_t strategy, int32_t beams, size_t queries, Seen seen) {
  const Runner runner = make_runner(decoder, transitions, catalogue, strategy, beams);
  Request mine;
  mine.transitions = transitions;
  std::vector<Answer> answers;
  for (size_t q = 0; q < queries; q++) {
    const std::vector<int32_t> tokens = tokens_of(decoder, data, data.test[q].history);
    if (transitions != nullptr) mine.weights = weigh(*transitions, data.test[q].history);
    sidbeam_request request = SIDBEAM_REQUEST_INIT;
    request.tokens = tokens.data();
    request.positions = std::ssize(tokens) / decoder.group;
    request.group = decoder.group;
    const Constraint rules = seen == Seen::kExcluded ? constraint_without(catalogue, data.test[q].history) : nullptr;
    request.constraint = rules.get();
    request.done = take;
    request.context = &mine;
    check(sidbeam_runner_run(runner.get(), &request, &err));
    answers.push_back(std::move(mine.answer));
    mine.answer = {};
  }
  return answers;
}

}  // namespace recommend
