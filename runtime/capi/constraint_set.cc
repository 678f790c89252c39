// The stateless calls.
// SPDX-License-Identifier: Apache-2.0
#include "decode/constraint_set.h"

#include "backend/sampling.h"
#include "capi/guard.h"
#include "decode/prefixes.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

sidbeam_rows read_logits(const sidbeam_constraint_set& set, const sidbeam_rows* logits) {
  sidbeam_rows rows = read_struct(logits, "logits");
  check_set_rows(set, rows);
  return rows;
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_constraint_set_create(sidbeam_runtime* runtime, const sidbeam_constraint_set_config* config,
                                             sidbeam_constraint_set** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(runtime, "runtime");
    require(out, "out");
    sidbeam_constraint_set_config copy = read_struct(config, "config");
    sidbeam_vocabulary vocabulary;
    if (copy.vocabulary != nullptr) {
      vocabulary = read_struct(copy.vocabulary, "config.vocabulary");
      copy.vocabulary = &vocabulary;
    }
    *out = make_constraint_set(runtime, copy).release();
  });
}

void sidbeam_constraint_set_destroy(sidbeam_constraint_set* set) { delete set; }

sidbeam_status sidbeam_constraint_set_prefixes(const sidbeam_constraint_set* set, const int32_t* which,
                                               const int32_t* codes, int64_t stride, const int32_t* lengths,
                                               int64_t count, sidbeam_state* out, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(set, "set");
    check_count(count);
    if (count == 0) return;
    require(lengths, "lengths");
    require(out, "out");
    const PrefixArray prefixes = resolve_prefixes("stride", codes, stride, count, set->levels);
    set->backend->prefixes({which, count, stream}, prefixes, lengths, out);
  });
}

sidbeam_status sidbeam_constraint_set_advance(const sidbeam_constraint_set* set, const int32_t* which,
                                              const sidbeam_state* in, int64_t in_count, const int32_t* parents,
                                              const int32_t* codes, int64_t count, sidbeam_state* out, void* stream,
                                              sidbeam_error* err) {
  return guarded(err, [&] {
    require(set, "set");
    check_count(count);
    if (count == 0) return;
    require(in, "in");
    require(codes, "codes");
    require(out, "out");
    check_parents(parents, in_count, count);
    set->backend->advance({which, count, stream}, in, in_count, parents, codes, out);
  });
}

sidbeam_status sidbeam_constraint_set_mask(const sidbeam_constraint_set* set, const int32_t* which,
                                           const sidbeam_state* states, const sidbeam_rows* logits, void* data,
                                           void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(set, "set");
    const sidbeam_rows rows = read_logits(*set, logits);
    if (data != rows.data) fail(SIDBEAM_INVALID_ARGUMENT, "data is not logits.data, expected the same address");
    if (rows.rows == 0) return;
    require(states, "states");
    set->backend->mask({which, rows.rows, stream}, states, rows, data);
  });
}

sidbeam_status sidbeam_constraint_set_bitmask(const sidbeam_constraint_set* set, const int32_t* which,
                                              const sidbeam_state* states, int64_t count, int64_t words_per_row,
                                              uint32_t* words, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(set, "set");
    check_count(count);
    check_words(*set, count, words_per_row);
    if (count == 0) return;
    require(states, "states");
    require(words, "words");
    set->backend->bitmask({which, count, stream}, states, words_per_row, words);
  });
}

sidbeam_status sidbeam_constraint_set_topk(const sidbeam_constraint_set* set, const int32_t* which,
                                           const sidbeam_state* states, const sidbeam_rows* logits,
                                           int32_t normalization, int32_t k, int32_t* codes, float* log_probs,
                                           sidbeam_state* next, void* stream, sidbeam_error* err) {
  return guarded(err, [&] {
    require(set, "set");
    const sidbeam_rows rows = read_logits(*set, logits);
    check_topk(normalization, k);
    if (rows.rows == 0) return;
    require(states, "states");
    require(codes, "codes");
    require(log_probs, "log_probs");
    set->backend->topk({which, rows.rows, stream}, states, rows, normalization, k, codes, log_probs, next);
  });
}

sidbeam_status sidbeam_constraint_set_sample(const sidbeam_constraint_set* set, const int32_t* which,
                                             const sidbeam_state* states, const sidbeam_rows* logits,
                                             int32_t normalization, const float* inverse_temperatures,
                                             const sidbeam_sampling* sampling, const sidbeam_sampled* out, void* stream,
                                             sidbeam_error* err) {
  return guarded(err, [&] {
    require(set, "set");
    const sidbeam_rows rows = read_logits(*set, logits);
    const SetSampling how{normalization, inverse_temperatures, read_struct(sampling, "sampling")};
    const sidbeam_sampled to = read_struct(out, "out");
    check_normalization(normalization);
    check_sampling({SIDBEAM_MODE_SAMPLE, 1, rows.rows, 0}, how.arrays);
    if (rows.rows == 0) return;
    require(states, "states");
    require(to.codes, "out.codes");
    set->backend->sample({which, rows.rows, stream}, states, rows, how, to);
  });
}

}  // extern "C"
