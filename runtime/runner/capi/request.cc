// What a request must be, before a runner takes it.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "runner/capi/first_version.h"
#include "runner/capi/head.h"
#include "runner/capi/service.h"
#include "support/arguments.h"

namespace sidbeam::runner {
namespace {

// As check_range(); names the setting of the runner that is the limit.
void check_limit(const char* what, int64_t value, int64_t lowest, int64_t limit, const char* setting) {
  if (value < lowest || value > limit)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected %lld..%lld, %s", what, static_cast<long long>(value),
         static_cast<long long>(lowest), static_cast<long long>(limit), setting);
}

void check_shared_kv(const Service& service, const sidbeam_shared_kv& kv) {
  check_range("request.shared_kv.dtype", kv.dtype, SIDBEAM_DTYPE_F32, SIDBEAM_DTYPE_BF16);
  check_limit("request.shared_kv.length", kv.length, 1, service.max_prompt, "config.max_prompt");
  capi::require(kv.keys, "request.shared_kv.keys");
  capi::require(kv.values, "request.shared_kv.values");
  for (int32_t layer = 0; layer < service.model->info().layers; ++layer)
    if (kv.keys[layer] == nullptr || kv.values[layer] == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "request.shared_kv.%s[%d] is NULL, expected an array for each of %d layers",
           kv.keys[layer] == nullptr ? "keys" : "values", layer, service.model->info().layers);
  service.model->check_shared_kv(kv);
}

// Positions that tokens must or may fill after those of a shared_kv.
void check_positions_behind(const Service& service, int64_t length, int64_t positions) {
  const int64_t most = service.max_prompt - length, least = service.begin_count > 0 ? 0 : 1;
  const auto number = [](int64_t value) { return static_cast<long long>(value); };
  if (service.model->info().encoder_layers > 0) {
    if (positions != 0)
      fail(SIDBEAM_INVALID_ARGUMENT,
           "request.positions is %lld, expected 0: request.shared_kv stands for the encoder's output, so that no token "
           "is encoded",
           number(positions));
  } else if (most < least) {
    fail(SIDBEAM_INVALID_ARGUMENT,
         "request.shared_kv.length is %lld, expected at most %lld: config.max_prompt is %lld, and with neither begin "
         "tokens nor a token after it there would be nothing to run",
         number(length), number(service.max_prompt - 1), number(service.max_prompt));
  } else if (positions < least || positions > most) {
    fail(SIDBEAM_INVALID_ARGUMENT,
         "request.positions is %lld, expected %lld..%lld: config.max_prompt is %lld, of which request.shared_kv has "
         "%lld",
         number(positions), number(least), number(most), number(service.max_prompt), number(length));
  }
}

// A user without a history has an empty prompt: the model then begins with the begin tokens.
void check_empty_prompt(const Service& service) {
  if (service.model->info().encoder_layers > 0 || (service.draft && service.draft->info().encoder_layers > 0))
    fail(SIDBEAM_INVALID_ARGUMENT,
         "request.positions is 0, expected 1..%lld, config.max_prompt: of an empty prompt the decoder would have "
         "nothing to attend to; an encoder needs a token at least, such as the end of sequence that it was trained "
         "with",
         static_cast<long long>(service.max_prompt));
  if (service.begin_count == 0)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "request.positions is 0, expected 1..%lld, config.max_prompt: an empty prompt needs config.begin_tokens, "
         "without which there is nothing to run",
         static_cast<long long>(service.max_prompt));
}

void check_positions(const Service& service, const sidbeam_request& request) {
  if (request.shared_kv != nullptr)
    check_positions_behind(service, request.shared_kv->length, request.positions);
  else if (request.positions == 0)
    check_empty_prompt(service);
  else
    check_limit("request.positions", request.positions, 1, service.max_prompt, "config.max_prompt");
}

void check_widths(const Service& service, const sidbeam_request& request) {
  check_limit("request.width_levels", request.width_levels, 0, service.shape.levels, "the levels of a SID");
  if (request.width_levels == 0) return;
  if (service.drafting.relaxed)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "request.width_levels is %d, expected 0: the runner draws as many beams at every level "
         "(SIDBEAM_SPECULATE_RELAXED)",
         request.width_levels);
  capi::require(request.widths, "request.widths");
  int32_t before = request.beams;
  for (int32_t l = 0; l < request.width_levels; ++l) {
    char what[40];
    std::snprintf(what, sizeof what, "request.widths[%d]", l);
    check_limit(what, request.widths[l], 0, request.beams, "request.beams");
    const int32_t width = request.widths[l] > 0 ? request.widths[l] : request.beams;
    if (service.draws && width > before)
      fail(SIDBEAM_INVALID_ARGUMENT,
           "%s is %d, expected at most %d, the width before: in mode STOCHASTIC none may rise", what, width, before);
    before = width;
  }
}

void check_keys(const Service& service, const sidbeam_request& request) {
  const int64_t given = request.seed != 0 ? request.seed : request.sampling_request;
  if (!service.draws && given != 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "request.%s is %lld, expected 0: the runner searches, and draws nothing",
         request.seed != 0 ? "seed" : "sampling_request", static_cast<long long>(given));
}

void check_tokens(const Service& service, const sidbeam_request& request) {
  const int64_t tokens = service.model->info().vocabulary, count = request.positions * request.group;
  if (count > 0 && request.tokens == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "request.tokens is NULL, expected %lld: request.positions * request.group",
         static_cast<long long>(count));
  for (int64_t i = 0; i < count; ++i)
    if (request.tokens[i] < -1 || request.tokens[i] >= tokens)
      fail(SIDBEAM_INVALID_ARGUMENT, "token %lld of position %lld is %d, expected 0..%lld, or -1 for none",
           static_cast<long long>(i % request.group), static_cast<long long>(i / request.group), request.tokens[i],
           static_cast<long long>(tokens - 1));
}

// The runner's outputs are for its constraint's codes.
void check_constraint(const Service& service, sidbeam_constraint* constraint) {
  if (constraint == service.constraint.get()) return;
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  sidbeam_error error = SIDBEAM_ERROR_INIT;
  check_status(sidbeam_constraint_get_info(constraint, &info, &error), error);
  const sidbeam_constraint_info& own = service.shape;
  if (info.levels != own.levels || info.variable_length > own.variable_length)
    fail(SIDBEAM_INVALID_ARGUMENT, "request.constraint has %d levels of %s length, expected %d of %s, as the runner's",
         info.levels, info.variable_length != 0 ? "variable" : "fixed", own.levels,
         own.variable_length != 0 ? "variable" : "fixed");
  for (int32_t level = 0; level < own.levels; ++level)
    if (info.codes[level] != own.codes[level])
      fail(SIDBEAM_INVALID_ARGUMENT, "request.constraint has %d codes at level %d, expected %d, as the runner's",
           info.codes[level], level, own.codes[level]);
  check_codebook(service, "request.constraint", info.codebook);
}

}  // namespace

sidbeam_request complete_request(const Service& service, const sidbeam_request* given, sidbeam_shared_kv& shared_kv) {
  sidbeam_request request = capi::read_struct(given, "request");
  if (request.done == nullptr) fail(SIDBEAM_INVALID_ARGUMENT, "request.done is NULL, expected a function");
  check_limit("request.beams", request.beams, 0, service.beams, "config.beams");
  check_limit("request.group", request.group, 0, service.max_group, "config.max_group");
  if (request.beams == 0) request.beams = service.beams;
  if (request.group == 0) request.group = 1;
  check_widths(service, request);
  if (request.constraint == nullptr) request.constraint = service.constraint.get();
  if (request.shared_kv != nullptr) {
    if (service.draft)
      fail(SIDBEAM_INVALID_ARGUMENT,
           "request.shared_kv is given, expected NULL: the runner has a draft, which reads the prompt itself");
    shared_kv = capi::read_struct(request.shared_kv, "request.shared_kv");
    request.shared_kv = &shared_kv;
    check_shared_kv(service, shared_kv);
  }
  check_keys(service, request);
  check_positions(service, request);
  check_tokens(service, request);
  check_constraint(service, request.constraint);
  if (request.deadline_us < 0)
    fail(SIDBEAM_DEADLINE_EXCEEDED, "request.deadline_us is %lld, expected microseconds from now on: it has passed",
         static_cast<long long>(request.deadline_us));
  return request;
}

}  // namespace sidbeam::runner
