/* The shared cases through the flat layer: what every language does above it, in C. Takes the file's name.
 * SPDX-License-Identifier: Apache-2.0 */
#include "replay.h"

/* An array that only some modes have. */
static void same_drawn(const char* name, int64_t address) {
  if ((find_field(now, name, FIELD_F32) != NULL) != (address != 0)) fail(name, -1);
  if (address != 0) same_f32(name, (const float*)(intptr_t)address);
}

static void check_beams(void) {
  int64_t place[FLAT_BEAMS_COUNT] = {0};
  const flat_out_i64 out = {place, FLAT_BEAMS_COUNT};
  flat_session_get_beams(state.session, out, &err);
  succeed("flat_session_get_beams");
  same_i32("want_parents", (const int32_t*)(intptr_t)place[FLAT_BEAMS_PARENTS]);
  same_i32("want_codes", (const int32_t*)(intptr_t)place[FLAT_BEAMS_CODES]);
  same_f32("want_scores", (const float*)(intptr_t)place[FLAT_BEAMS_SCORES]);
  same_i64("want_states", (const int64_t*)(intptr_t)place[FLAT_BEAMS_STATES]);
  same_i32("want_live", (const int32_t*)(intptr_t)place[FLAT_BEAMS_LIVE]);
  same_i32("want_active", (const int32_t*)(intptr_t)place[FLAT_BEAMS_ACTIVE]);
  same_i32("want_level", (const int32_t*)(intptr_t)place[FLAT_BEAMS_LEVEL]);
  same_i32("want_errors", (const int32_t*)(intptr_t)place[FLAT_BEAMS_ERRORS]);
  same_drawn("want_log_masses", place[FLAT_BEAMS_LOG_MASSES]);
  same_drawn("want_perturbed", place[FLAT_BEAMS_PERTURBED]);
  same_drawn("want_log_inclusions", place[FLAT_BEAMS_LOG_INCLUSIONS]);
  same_drawn("want_thresholds", place[FLAT_BEAMS_THRESHOLDS]);
}

static int64_t end_column(void) { return find_field(now, "end_column", FIELD_I64) ? number_of(now, "end_column") : -1; }

static void do_session(void) {
  close_handle(&state.session);
  state.session = flat_session_create(state.runtime, state.constraints[0], i32_of("slots"), i32_of("beams"),
                                      i32_of("strategy"), i32_of("normalization"), i32_of("top_k"), in_i64("offsets"),
                                      in_i32("maps"), in_i64("map_codes"), end_column(), SIDBEAM_DEVICE_CPU, 0,
                                      i32_of("log_probs_promised"), i32_of("mode"), 0, &err);
  succeed("flat_session_create");
  check_beams();
}

/* The handles of `indexes` as numbers, into memory of the caller's. */
static flat_in_i64 handles_of(int64_t* numbers) {
  const flat_in_i32 asked = in_i32("indexes");
  const flat_in_i64 handles = {asked.data == NULL ? NULL : numbers, asked.count};
  for (int64_t i = 0; i < asked.count; ++i)
    numbers[i] = asked.data[i] < 0 ? 0 : (int64_t)(intptr_t)state.constraints[asked.data[i]];
  return handles;
}

static void start(void) {
  int64_t numbers[64];
  const flat_in_i32 slots = in_i32("slots"), prefixes = in_i32("prefixes");
  flat_session_start(state.session, slots, slots.count, handles_of(numbers), in_i32("widths"), i32_of("width_levels"),
                     prefixes, in_i32("prefix_lengths"), prefixes.data == NULL ? 0 : number_of(now, "prefix_stride"),
                     in_f32("inverse_temperatures"), in_f32("soft_caps"), 0, in_i64("seeds"), in_i64("requests"),
                     in_i64("draws"), find_field(now, "draw_stride", FIELD_I64) ? number_of(now, "draw_stride") : 0,
                     in_i32("top_ks"), in_f32("top_ps"), in_f32("noise_scales"), &err);
}

static void step(void) {
  const given_logits logits = logits_of("logits");
  flat_session_step(state.session, in_i32("slots"), logits.memory, logits.count, logits.dtype, SIDBEAM_DEVICE_CPU, 0,
                    number_of(now, "rows_slots"), number_of(now, "rows"), number_of(now, "columns"),
                    number_of(now, "slot_stride"), number_of(now, "row_stride"), in_i32("row_map"), in_f32("lse"),
                    *in_f32("inverse_temperature").data, *in_f32("soft_cap").data, in_f32("inverse_temperatures"),
                    in_f32("soft_caps"), 0, &err);
  free(logits.memory.data);
}

static void stop(void) {
  const flat_in_i32 slots = in_i32("slots");
  flat_session_stop(state.session, slots, slots.count, 0, &err);
}

/* The item rows that are there, slot after slot. */
static void check_item_rows_of_slots(const int64_t* item_rows, const int64_t* offsets, int64_t count, int64_t beams,
                                     int64_t limit) {
  const flat_in_i64 want = in_i64("want_item_rows");
  int64_t k = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (int64_t j = 0; j < offsets[i * (beams + 1) + beams]; ++j, ++k) {
      if (k >= want.count || item_rows[i * limit + j] != want.data[k]) fail("want_item_rows", k);
    }
  }
  if (k != want.count) fail("want_item_rows", k);
}

static void items(void) {
  const flat_in_i32 slots = in_i32("slots");
  const int64_t limit = number_of(now, "limit"), all = in_i64("want_ordinals").count;
  const int64_t count = in_i32("want_truncated").count;
  const flat_out_i64 none = {NULL, 0}, ordinals = out_i64(all), offsets = out_i64(all + count);
  const flat_out_i64 item_rows = i32_of("with_item_rows") ? out_i64(count * limit) : none;
  const flat_out_i32 sids = out_i32(in_i32("want_sids").count), lengths = out_i32(all), cut = out_i32(count);
  const flat_out_i32 no_flags = {NULL, 0};
  flat_session_get_items(state.session, slots, slots.count, number_of(now, "limit_per_sid"), limit, i32_of("distinct"),
                         NULL, 0, ordinals, sids, lengths, item_rows, offsets, cut, no_flags, 0, &err);
  if (err.code == 0) {
    same_i64("want_ordinals", ordinals.data);
    same_i32("want_sids", sids.data);
    same_i32("want_lengths", lengths.data);
    same_i64("want_offsets", offsets.data);
    same_i32("want_truncated", cut.data);
    if (item_rows.data != NULL) check_item_rows_of_slots(item_rows.data, offsets.data, count, all / count, limit);
  }
  free(ordinals.data);
  free(offsets.data);
  free(item_rows.data);
  free(sids.data);
  free(lengths.data);
  free(cut.data);
}

static void do_start(void) {
  start();
  succeed("flat_session_start");
  check_beams();
}
static void do_step(void) {
  step();
  succeed("flat_session_step");
  check_beams();
}
static void do_stop(void) {
  stop();
  succeed("flat_session_stop");
  check_beams();
}
static void do_items(void) {
  items();
  succeed("flat_session_get_items");
}

static void do_refused(void) {
  static const struct {
    const char* name;
    void (*call)(void);
  } calls[] = {{"start", start}, {"step", step}, {"stop", stop}, {"items", items}};
  const char* name = text_of(now, "call");
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    if (strcmp(calls[i].name, name) == 0) calls[i].call();
  }
  same_number("want_code", err.code);
  if (strcmp(err.message, text_of(now, "want_message")) != 0) fail("want_message", -1);
  check_beams();
}

static void do_set(void) {
  int64_t numbers[64];
  close_handle(&state.set);
  state.set = flat_constraint_set_create(state.runtime, handles_of(numbers), in_i64("offsets"), in_i32("maps"),
                                         in_i64("map_codes"), end_column(), SIDBEAM_DEVICE_CPU, 0, &err);
  succeed("flat_constraint_set_create");
}

static void do_prefixes(void) {
  const flat_in_i32 lengths = in_i32("lengths");
  const flat_out_i64 states = out_i64(lengths.count);
  flat_constraint_set_prefixes(state.set, in_i32("which"), in_i32("codes"), number_of(now, "stride"), lengths,
                               lengths.count, states, 0, &err);
  succeed("flat_constraint_set_prefixes");
  same_i64("want_states", states.data);
  free(states.data);
}

static void do_advance(void) {
  const flat_in_i32 codes = in_i32("codes");
  const flat_out_i64 states = out_i64(codes.count);
  flat_constraint_set_advance(state.set, in_i32("which"), in_i64("states"), in_i32("parents"), codes, codes.count,
                              states, 0, &err);
  succeed("flat_constraint_set_advance");
  same_i64("want_states", states.data);
  free(states.data);
}

static void do_mask(void) {
  const given_logits logits = logits_of("logits"), want = logits_of("want_logits");
  flat_constraint_set_mask(state.set, in_i32("which"), in_i64("states"), logits.memory, logits.count, logits.dtype,
                           SIDBEAM_DEVICE_CPU, 0, number_of(now, "rows"), number_of(now, "columns"),
                           number_of(now, "row_stride"), 0, &err);
  succeed("flat_constraint_set_mask");
  if (memcmp(logits.memory.data, want.memory.data, want.bytes) != 0) fail("want_logits", -1);
  state.compared += want.count;
  free(logits.memory.data);
  free(want.memory.data);
}

static void do_bitmask(void) {
  const flat_in_i64 states = in_i64("states");
  const flat_out_i32 words = out_i32(in_i32("want_words").count);
  flat_constraint_set_bitmask(state.set, in_i32("which"), states, states.count, number_of(now, "words_per_row"), words,
                              0, &err);
  succeed("flat_constraint_set_bitmask");
  same_i32("want_words", words.data);
  free(words.data);
}

static void do_topk(void) {
  const given_logits logits = logits_of("logits");
  const int64_t all = in_i32("want_codes").count;
  const flat_out_i32 codes = out_i32(all);
  const flat_out_i64 next = out_i64(all);
  const flat_out_i32 bits = out_i32(all);
  const flat_out_f32 log_probs = {(float*)(void*)bits.data, all};
  flat_constraint_set_topk(state.set, in_i32("which"), in_i64("states"), logits.memory, logits.count, logits.dtype,
                           SIDBEAM_DEVICE_CPU, 0, number_of(now, "rows"), number_of(now, "columns"),
                           number_of(now, "row_stride"), i32_of("normalization"), i32_of("k"), codes, log_probs, next,
                           0, &err);
  succeed("flat_constraint_set_topk");
  same_i32("want_codes", codes.data);
  same_f32("want_log_probs", log_probs.data);
  same_i64("want_next", next.data);
  free(codes.data);
  free(next.data);
  free(bits.data);
  free(logits.memory.data);
}

static void do_sample(void) {
  const given_logits logits = logits_of("logits");
  const int64_t rows = number_of(now, "rows");
  const flat_out_i32 codes = out_i32(rows), bits = out_i32(rows), mass_bits = out_i32(rows);
  const flat_out_i64 next = out_i64(rows);
  const flat_out_f32 log_probs = {(float*)(void*)bits.data, rows}, log_masses = {(float*)(void*)mass_bits.data, rows};
  flat_constraint_set_sample(state.set, in_i32("which"), in_i64("states"), logits.memory, logits.count, logits.dtype,
                             SIDBEAM_DEVICE_CPU, 0, rows, number_of(now, "columns"), number_of(now, "row_stride"),
                             i32_of("normalization"), in_f32("inverse_temperatures"), in_i64("seeds"),
                             in_i64("requests"), in_i64("draws"), in_i32("top_ks"), in_f32("top_ps"), codes, log_probs,
                             log_masses, next, 0, &err);
  succeed("flat_constraint_set_sample");
  same_i32("want_codes", codes.data);
  same_f32("want_log_probs", log_probs.data);
  same_f32("want_log_masses", log_masses.data);
  same_i64("want_next", next.data);
  free(codes.data);
  free(bits.data);
  free(mass_bits.data);
  free(next.data);
  free(logits.memory.data);
}

static void do_disc(void) {
  close_handle(&state.disc);
  state.disc = flat_disc_create(state.runtime, i32_of("results"), i32_of("rounds"), i32_of("without_replacement"),
                                i32_of("attempts"), i32_of("side_by_side"), number_of(now, "seed"),
                                number_of(now, "request"), &err);
  succeed("flat_disc_create");
  state.results = i32_of("results");
}

static void do_disc_next(void) {
  const flat_out_i64 draws = out_i64(number_of(now, "capacity"));
  const int64_t count = flat_disc_next(state.disc, draws, &err);
  succeed("flat_disc_next");
  if (count != in_i64("want_draws").count) fail("want_draws", count);
  same_i64("want_draws", draws.data);
  free(draws.data);
}

static void do_disc_add(void) {
  const flat_in_i64 draws = in_i64("draws");
  flat_disc_add(state.disc, draws.count, draws, in_i64("ordinals"), in_f32("log_probs"), in_f32("log_masses"), &err);
  succeed("flat_disc_add");
}

static void do_disc_get(void) {
  const flat_out_i64 ordinals = out_i64(state.results), draws = out_i64(state.results);
  const flat_out_i64 used = out_i64(state.results), rows = out_i64(state.results);
  const flat_out_i32 accepted = out_i32(state.results), bits = out_i32(2 * state.results);
  const flat_out_f32 log_probs = {(float*)(void*)bits.data, state.results};
  const flat_out_f32 log_masses = {log_probs.data + state.results, state.results};
  flat_disc_get(state.disc, ordinals, draws, accepted, used, rows, log_probs, log_masses, &err);
  succeed("flat_disc_get");
  same_i64("want_ordinals", ordinals.data);
  same_i64("want_draws", draws.data);
  same_i32("want_accepted", accepted.data);
  same_i64("want_draws_used", used.data);
  same_i64("want_rows_run", rows.data);
  same_f32("want_log_probs", log_probs.data);
  same_f32("want_log_masses", log_masses.data);
  free(ordinals.data);
  free(draws.data);
  free(used.data);
  free(rows.data);
  free(accepted.data);
  free(bits.data);
}

static void replay(const record* one) {
  static const struct {
    const char* kind;
    void (*run)(void);
  } kinds[] = {{"case", do_case},         {"index", do_index},         {"session", do_session},
               {"start", do_start},       {"step", do_step},           {"stop", do_stop},
               {"items", do_items},       {"refused", do_refused},     {"set", do_set},
               {"prefixes", do_prefixes}, {"advance", do_advance},     {"mask", do_mask},
               {"bitmask", do_bitmask},   {"topk", do_topk},           {"sample", do_sample},
               {"disc", do_disc},         {"disc_next", do_disc_next}, {"disc_add", do_disc_add},
               {"disc_get", do_disc_get}};
  now = one;
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    if (strcmp(kinds[i].kind, one->kind) != 0) continue;
    kinds[i].run();
    return;
  }
  fail("unknown kind of record", -1);
}

int main(int argc, char** argv) {
  case_file cases;
  if (argc != 2) return EXIT_FAILURE;
  cases = read_cases(argv[1]);
  flat_check_abi(&err);
  if (err.code == 0) state.runtime = flat_runtime_create(1, 1, 0, -1, NULL, NULL, 0, 0, 0, &err);
  if (err.code != 0) return EXIT_FAILURE;
  for (int64_t i = 0; i < cases.count; ++i) replay(&cases.records[i]);
  end_case();
  flat_free(state.runtime);
  printf("%" PRId64 " records, %" PRId64 " values as in C\n", cases.count, state.compared);
  free_cases(&cases);
  return state.compared > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
