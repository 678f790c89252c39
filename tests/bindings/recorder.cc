// Calls of the C ABI, passed on and written down.
// SPDX-License-Identifier: Apache-2.0
#include "recorder.h"

#include <algorithm>

// The linker's names for a wrapped function: __real_ is the library's.
#define REAL(name) __real_sidbeam_##name
#define WRAP(name) __wrap_sidbeam_##name

extern "C" {
decltype(sidbeam_session_create) REAL(session_create), WRAP(session_create);
decltype(sidbeam_session_start) REAL(session_start), WRAP(session_start);
decltype(sidbeam_session_step) REAL(session_step), WRAP(session_step);
decltype(sidbeam_session_stop) REAL(session_stop), WRAP(session_stop);
decltype(sidbeam_session_get_items) REAL(session_get_items), WRAP(session_get_items);
decltype(sidbeam_constraint_set_create) REAL(constraint_set_create), WRAP(constraint_set_create);
decltype(sidbeam_constraint_set_prefixes) REAL(constraint_set_prefixes), WRAP(constraint_set_prefixes);
decltype(sidbeam_constraint_set_advance) REAL(constraint_set_advance), WRAP(constraint_set_advance);
decltype(sidbeam_constraint_set_mask) REAL(constraint_set_mask), WRAP(constraint_set_mask);
decltype(sidbeam_constraint_set_bitmask) REAL(constraint_set_bitmask), WRAP(constraint_set_bitmask);
decltype(sidbeam_constraint_set_topk) REAL(constraint_set_topk), WRAP(constraint_set_topk);
decltype(sidbeam_constraint_set_sample) REAL(constraint_set_sample), WRAP(constraint_set_sample);
decltype(sidbeam_disc_create) REAL(disc_create), WRAP(disc_create);
decltype(sidbeam_disc_next) REAL(disc_next), WRAP(disc_next);
decltype(sidbeam_disc_add) REAL(disc_add), WRAP(disc_add);
decltype(sidbeam_disc_get) REAL(disc_get), WRAP(disc_get);
}

namespace shared_cases {
namespace {

struct {
  Writer* writer = nullptr;  // nullptr: nothing is written
  std::vector<const sidbeam_constraint*> constraints;
  Recorded recorded = Recorded::kSessions;
  int64_t set_levels = 0;  // of the set that was made last, which all calls are of
  int64_t results = 0;     // of the disc that was made last
} now;

// The record of a call, or, if it failed, of its refusal; false: nothing is to be written.
bool begin(Recorded of, const char* kind, sidbeam_status status, const sidbeam_error* err) {
  if (now.writer == nullptr || now.recorded != of) return false;
  now.writer->record(status == SIDBEAM_OK ? kind : "refused");
  if (status == SIDBEAM_OK) return true;
  now.writer->field("call", std::string(kind));
  now.writer->field("want_code", static_cast<int32_t>(status));
  now.writer->field("want_message", std::string(err->message));
  return true;
}

// What a stride of 0 stands for.
int64_t most_levels(const sidbeam_constraint_set_config& config) {
  int64_t most = 0;
  for (int64_t i = 0; i < config.constraint_count; ++i) {
    sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
    if (sidbeam_constraint_get_info(config.constraints[i], &info, nullptr) == SIDBEAM_OK)
      most = std::max<int64_t>(most, info.levels);
  }
  return most;
}

// -1: NULL, which is the session's own.
int32_t number_of(const sidbeam_constraint* constraint) {
  const auto found = std::find(now.constraints.begin(), now.constraints.end(), constraint);
  return found == now.constraints.end() ? -1 : static_cast<int32_t>(found - now.constraints.begin());
}

void write_indexes(sidbeam_constraint* const* constraints, int64_t count) {
  if (constraints == nullptr) return;
  std::vector<int32_t> numbers;
  for (int64_t i = 0; i < count; ++i) numbers.push_back(number_of(constraints[i]));
  now.writer->field("indexes", numbers.data(), count);
}

void write_vocabulary(const sidbeam_vocabulary* vocabulary) {
  if (vocabulary == nullptr) return;
  const int64_t levels = vocabulary->levels;
  now.writer->field("offsets", vocabulary->offsets, levels);
  if (vocabulary->maps != nullptr) {
    std::vector<int64_t> map_codes;
    std::vector<int32_t> maps;
    for (int64_t l = 0; l < levels; ++l) {
      map_codes.push_back(vocabulary->maps[l] == nullptr ? 0 : vocabulary->map_codes[l]);
      maps.insert(maps.end(), vocabulary->maps[l], vocabulary->maps[l] + map_codes.back());
    }
    now.writer->field("map_codes", map_codes.data(), levels);
    now.writer->field("maps", maps.data(), static_cast<int64_t>(maps.size()));
  }
  now.writer->field("end_column", vocabulary->end_column);
}

void write_beams(const sidbeam_session* session) {
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  if (sidbeam_session_get_beams(session, &beams, nullptr) != SIDBEAM_OK) return;
  Writer& out = *now.writer;
  const int64_t slots = beams.slots, all = slots * beams.beams;
  out.field("want_parents", beams.parents, all);
  out.field("want_codes", beams.codes, all);
  out.field("want_scores", beams.scores, all);
  out.field("want_states", beams.states, all);
  out.field("want_live", beams.live, slots);
  out.field("want_active", beams.active, slots);
  out.field("want_level", beams.level, slots);
  out.field("want_errors", beams.errors, slots);
  out.field("want_log_masses", beams.log_masses, all);
  out.field("want_perturbed", beams.perturbed, all);
  out.field("want_log_inclusions", beams.log_inclusions, all);
  out.field("want_thresholds", beams.thresholds, slots);
}

void write_sampling(const sidbeam_sampling& sampling, int64_t count, int64_t rows) {
  Writer& out = *now.writer;
  out.field("seeds", sampling.seeds, count);
  out.field("requests", sampling.requests, count);
  out.field("draws", sampling.draws, count * (sampling.draw_stride == 0 ? rows : sampling.draw_stride));
  out.field("draw_stride", sampling.draw_stride);
  out.field("top_ks", sampling.top_ks, count);
  out.field("top_ps", sampling.top_ps, count);
  out.field("noise_scales", sampling.noise_scales, count);
}

int64_t distance(int64_t stride, int64_t dense) {
  return stride == SIDBEAM_BROADCAST ? 0 : stride == 0 ? dense : stride;
}

// What a list of slots stands for: NULL is all of them.
int64_t named_slots(const int32_t* slots, int64_t count, const sidbeam_beams& beams) {
  return slots == nullptr ? beams.slots : count;
}

// Elements from the first of the first logits row to the last of the last; strides are not negative here.
int64_t extent(const sidbeam_rows& rows) {
  const int64_t row = distance(rows.row_stride, rows.columns);
  const int64_t slot = distance(rows.slot_stride, row == 0 ? rows.columns : rows.rows * row);
  return (std::max<int64_t>(rows.slots, 1) - 1) * slot + (rows.rows - 1) * row + rows.columns;
}

// Codes of `count` prefixes, as far as the library may read them.
void write_prefixes(const char* name, const int32_t* codes, int64_t stride, const int32_t* lengths, int64_t count,
                    int64_t levels) {
  const int64_t one = count == 0 ? 0 : *std::max_element(lengths, lengths + count);
  now.writer->field(name, codes, stride == SIDBEAM_BROADCAST ? one : count * distance(stride, levels));
}

void write_rows(const sidbeam_rows& rows) {
  Writer& out = *now.writer;
  out.field("rows", rows.rows);
  out.field("columns", rows.columns);
  out.field("row_stride", rows.row_stride);
}

void write_logits(const char* name, const sidbeam_rows& rows) {
  now.writer->elements(name, rows.dtype, rows.data, extent(rows));
}

void write_items(int64_t count, const sidbeam_beams& beams, const sidbeam_items& items) {
  Writer& out = *now.writer;
  const int64_t all = count * beams.beams;
  out.field("want_ordinals", items.ordinals, all);
  out.field("want_sids", items.sids, all * beams.levels);
  out.field("want_lengths", items.lengths, all);
  out.field("want_offsets", items.offsets, all + count);
  out.field("want_truncated", items.truncated, count);
  if (items.item_rows == nullptr) return;
  std::vector<int64_t> item_rows;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t* first = items.item_rows + i * items.limit;
    item_rows.insert(item_rows.end(), first, first + items.offsets[(i + 1) * (beams.beams + 1) - 1]);
  }
  out.field("want_item_rows", item_rows.data(), static_cast<int64_t>(item_rows.size()));
}

}  // namespace

Recording::Recording(Writer& writer, std::vector<const sidbeam_constraint*> constraints, Recorded recorded) {
  now = {&writer, std::move(constraints), recorded, 0, 0};
}
Recording::~Recording() { now = {}; }

}  // namespace shared_cases

using namespace shared_cases;

sidbeam_status WRAP(session_create)(sidbeam_runtime* runtime, const sidbeam_session_config* config,
                                    sidbeam_session** out, sidbeam_error* err) {
  const sidbeam_status status = REAL(session_create)(runtime, config, out, err);
  if (!begin(Recorded::kSessions, "session", status, err)) return status;
  now.writer->field("slots", config->slots);
  now.writer->field("beams", config->beams);
  now.writer->field("strategy", config->strategy);
  now.writer->field("normalization", config->normalization);
  now.writer->field("top_k", config->top_k);
  now.writer->field("log_probs_promised", config->log_probs_promised);
  now.writer->field("mode", config->mode);
  write_vocabulary(config->vocabulary);
  if (status == SIDBEAM_OK) write_beams(*out);
  return status;
}

sidbeam_status WRAP(session_start)(sidbeam_session* session, const sidbeam_start_args* args, sidbeam_error* err) {
  const sidbeam_status status = REAL(session_start)(session, args, err);
  if (!begin(Recorded::kSessions, "start", status, err)) return status;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  if (sidbeam_session_get_beams(session, &beams, nullptr) != SIDBEAM_OK) return status;
  const int64_t count = named_slots(args->slots, args->count, beams);
  now.writer->field("slots", args->slots, count);
  write_indexes(args->constraints, count);
  now.writer->field("widths", args->widths, count * std::max(args->width_levels, 1));
  now.writer->field("width_levels", args->width_levels);
  now.writer->field("inverse_temperatures", args->inverse_temperatures, count);
  now.writer->field("soft_caps", args->soft_caps, count);
  if (args->prefixes != nullptr) {
    write_prefixes("prefixes", args->prefixes, args->prefix_stride, args->prefix_lengths, count, beams.levels);
    now.writer->field("prefix_lengths", args->prefix_lengths, count);
    now.writer->field("prefix_stride", args->prefix_stride);
  }
  if (args->sampling != nullptr) write_sampling(*args->sampling, count, beams.beams);
  write_beams(session);
  return status;
}

sidbeam_status WRAP(session_step)(sidbeam_session* session, const sidbeam_step_args* args, sidbeam_error* err) {
  const sidbeam_status status = REAL(session_step)(session, args, err);
  if (!begin(Recorded::kSessions, "step", status, err)) return status;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  if (sidbeam_session_get_beams(session, &beams, nullptr) != SIDBEAM_OK) return status;
  const sidbeam_rows& rows = *args->rows;
  now.writer->field("slots", args->slots, args->count);
  now.writer->field("rows_slots", rows.slots);
  write_rows(rows);
  now.writer->field("slot_stride", rows.slot_stride);
  write_logits("logits", rows);
  const int64_t slots = named_slots(args->slots, args->count, beams);
  now.writer->field("row_map", args->row_map, slots * beams.beams);
  now.writer->field("lse", args->lse, std::max<int64_t>(rows.slots, 1) * rows.rows);
  now.writer->field("inverse_temperature", args->inverse_temperature);
  now.writer->field("soft_cap", args->soft_cap);
  now.writer->field("inverse_temperatures", args->inverse_temperatures, slots);
  now.writer->field("soft_caps", args->soft_caps, slots);
  write_beams(session);
  return status;
}

sidbeam_status WRAP(session_stop)(sidbeam_session* session, const int32_t* slots, int64_t count, void* stream,
                                  sidbeam_error* err) {
  const sidbeam_status status = REAL(session_stop)(session, slots, count, stream, err);
  if (!begin(Recorded::kSessions, "stop", status, err)) return status;
  now.writer->field("slots", slots, count);
  write_beams(session);
  return status;
}

sidbeam_status WRAP(session_get_items)(const sidbeam_session* session, const int32_t* slots, int64_t count,
                                       sidbeam_items* out, sidbeam_error* err) {
  const sidbeam_status status = REAL(session_get_items)(session, slots, count, out, err);
  if (!begin(Recorded::kSessions, "items", status, err)) return status;
  sidbeam_beams beams = SIDBEAM_BEAMS_INIT;
  if (sidbeam_session_get_beams(session, &beams, nullptr) != SIDBEAM_OK) return status;
  now.writer->field("slots", slots, count);
  now.writer->field("limit_per_sid", out->limit_per_sid);
  now.writer->field("limit", out->limit);
  now.writer->field("distinct", out->distinct);
  now.writer->field("with_item_rows", out->item_rows != nullptr ? 1 : 0);
  if (status == SIDBEAM_OK) write_items(named_slots(slots, count, beams), beams, *out);
  return status;
}

sidbeam_status WRAP(constraint_set_create)(sidbeam_runtime* runtime, const sidbeam_constraint_set_config* config,
                                           sidbeam_constraint_set** out, sidbeam_error* err) {
  const sidbeam_status status = REAL(constraint_set_create)(runtime, config, out, err);
  if (!begin(Recorded::kSets, "set", status, err)) return status;
  now.set_levels = most_levels(*config);
  write_indexes(config->constraints, config->constraint_count);
  write_vocabulary(config->vocabulary);
  return status;
}

sidbeam_status WRAP(constraint_set_prefixes)(const sidbeam_constraint_set* set, const int32_t* which,
                                             const int32_t* codes, int64_t stride, const int32_t* lengths,
                                             int64_t count, sidbeam_state* out, void* stream, sidbeam_error* err) {
  const sidbeam_status status =
      REAL(constraint_set_prefixes)(set, which, codes, stride, lengths, count, out, stream, err);
  if (count == 0 || !begin(Recorded::kSets, "prefixes", status, err)) return status;  // of nothing: not recorded
  now.writer->field("which", which, count);
  write_prefixes("codes", codes, stride, lengths, count, now.set_levels);
  now.writer->field("stride", stride);
  now.writer->field("lengths", lengths, count);
  now.writer->field("want_states", out, count);
  return status;
}

sidbeam_status WRAP(constraint_set_advance)(const sidbeam_constraint_set* set, const int32_t* which,
                                            const sidbeam_state* in, int64_t in_count, const int32_t* parents,
                                            const int32_t* codes, int64_t count, sidbeam_state* out, void* stream,
                                            sidbeam_error* err) {
  const std::vector<sidbeam_state> before(in, in + in_count);  // out may be the same array as in
  const sidbeam_status status =
      REAL(constraint_set_advance)(set, which, in, in_count, parents, codes, count, out, stream, err);
  if (count == 0 || !begin(Recorded::kSets, "advance", status, err)) return status;  // of nothing: not recorded
  now.writer->field("which", which, count);
  now.writer->field("states", before.data(), in_count);
  now.writer->field("parents", parents, count);
  now.writer->field("codes", codes, count);
  now.writer->field("want_states", out, count);
  return status;
}

// The logits are written before they are masked, and so is the record.
sidbeam_status WRAP(constraint_set_mask)(const sidbeam_constraint_set* set, const int32_t* which,
                                         const sidbeam_state* states, const sidbeam_rows* logits, void* data,
                                         void* stream, sidbeam_error* err) {
  const bool written = begin(Recorded::kSets, "mask", SIDBEAM_OK, err);
  if (written) {
    now.writer->field("which", which, logits->rows);
    now.writer->field("states", states, logits->rows);
    write_rows(*logits);
    write_logits("logits", *logits);
  }
  const sidbeam_status status = REAL(constraint_set_mask)(set, which, states, logits, data, stream, err);
  if (written) write_logits("want_logits", *logits);
  return status;
}

sidbeam_status WRAP(constraint_set_bitmask)(const sidbeam_constraint_set* set, const int32_t* which,
                                            const sidbeam_state* states, int64_t count, int64_t words_per_row,
                                            uint32_t* words, void* stream, sidbeam_error* err) {
  const sidbeam_status status =
      REAL(constraint_set_bitmask)(set, which, states, count, words_per_row, words, stream, err);
  if (!begin(Recorded::kSets, "bitmask", status, err)) return status;
  now.writer->field("which", which, count);
  now.writer->field("states", states, count);
  now.writer->field("words_per_row", words_per_row);
  now.writer->field("want_words", reinterpret_cast<const int32_t*>(words), count * words_per_row);
  return status;
}

sidbeam_status WRAP(constraint_set_topk)(const sidbeam_constraint_set* set, const int32_t* which,
                                         const sidbeam_state* states, const sidbeam_rows* logits, int32_t normalization,
                                         int32_t k, int32_t* codes, float* log_probs, sidbeam_state* next, void* stream,
                                         sidbeam_error* err) {
  const sidbeam_status status =
      REAL(constraint_set_topk)(set, which, states, logits, normalization, k, codes, log_probs, next, stream, err);
  if (!begin(Recorded::kSets, "topk", status, err)) return status;
  now.writer->field("which", which, logits->rows);
  now.writer->field("states", states, logits->rows);
  write_rows(*logits);
  write_logits("logits", *logits);
  now.writer->field("normalization", normalization);
  now.writer->field("k", k);
  now.writer->field("want_codes", codes, logits->rows * k);
  now.writer->field("want_log_probs", log_probs, logits->rows * k);
  now.writer->field("want_next", next, logits->rows * k);
  return status;
}

sidbeam_status WRAP(constraint_set_sample)(const sidbeam_constraint_set* set, const int32_t* which,
                                           const sidbeam_state* states, const sidbeam_rows* logits,
                                           int32_t normalization, const float* inverse_temperatures,
                                           const sidbeam_sampling* sampling, const sidbeam_sampled* out, void* stream,
                                           sidbeam_error* err) {
  const std::vector<sidbeam_state> before(states, states + logits->rows);  // out->next may be the same array
  const sidbeam_status status = REAL(constraint_set_sample)(set, which, states, logits, normalization,
                                                            inverse_temperatures, sampling, out, stream, err);
  if (!begin(Recorded::kSets, "sample", status, err)) return status;
  now.writer->field("which", which, logits->rows);
  now.writer->field("states", before.data(), logits->rows);
  write_rows(*logits);
  write_logits("logits", *logits);
  now.writer->field("normalization", normalization);
  now.writer->field("inverse_temperatures", inverse_temperatures, logits->rows);
  write_sampling(*sampling, logits->rows, 1);
  now.writer->field("want_codes", out->codes, logits->rows);
  now.writer->field("want_log_probs", out->log_probs, logits->rows);
  now.writer->field("want_log_masses", out->log_masses, logits->rows);
  now.writer->field("want_next", out->next, logits->rows);
  return status;
}

sidbeam_status WRAP(disc_create)(sidbeam_runtime* runtime, const sidbeam_disc_config* config, sidbeam_disc** out,
                                 sidbeam_error* err) {
  const sidbeam_status status = REAL(disc_create)(runtime, config, out, err);
  if (!begin(Recorded::kSessions, "disc", status, err)) return status;
  now.results = std::max(config->results, 1);
  now.writer->field("results", config->results);
  now.writer->field("rounds", config->rounds);
  now.writer->field("without_replacement", config->without_replacement);
  now.writer->field("attempts", config->attempts);
  now.writer->field("side_by_side", config->side_by_side);
  now.writer->field("seed", config->seed);
  now.writer->field("request", config->request);
  return status;
}

sidbeam_status WRAP(disc_next)(sidbeam_disc* disc, int64_t capacity, int64_t* draws, int64_t* count,
                               sidbeam_error* err) {
  const sidbeam_status status = REAL(disc_next)(disc, capacity, draws, count, err);
  if (!begin(Recorded::kSessions, "disc_next", status, err)) return status;
  now.writer->field("capacity", capacity);
  now.writer->field("want_draws", draws, *count);
  return status;
}

sidbeam_status WRAP(disc_add)(sidbeam_disc* disc, const sidbeam_disc_draws* draws, sidbeam_error* err) {
  const sidbeam_status status = REAL(disc_add)(disc, draws, err);
  if (!begin(Recorded::kSessions, "disc_add", status, err)) return status;
  now.writer->field("draws", draws->draws, draws->count);
  now.writer->field("ordinals", draws->ordinals, draws->count);
  now.writer->field("log_probs", draws->log_probs, draws->count);
  now.writer->field("log_masses", draws->log_masses, draws->count);
  return status;
}

sidbeam_status WRAP(disc_get)(const sidbeam_disc* disc, sidbeam_disc_results* out, sidbeam_error* err) {
  const sidbeam_status status = REAL(disc_get)(disc, out, err);
  if (!begin(Recorded::kSessions, "disc_get", status, err)) return status;
  now.writer->field("want_ordinals", out->ordinals, now.results);
  now.writer->field("want_draws", out->draws, now.results);
  now.writer->field("want_accepted", out->accepted, now.results);
  now.writer->field("want_draws_used", out->draws_used, now.results);
  now.writer->field("want_rows_run", out->rows_run, now.results);
  now.writer->field("want_log_probs", out->log_probs, now.results);
  now.writer->field("want_log_masses", out->log_masses, now.results);
  return status;
}
