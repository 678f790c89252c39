/* The runner: requests in, results or events out. See flat.h and events.h. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_FLAT_RUNNER_H
#define SIDBEAM_FLAT_RUNNER_H

#ifndef SWIG
/* What a runner's handle holds. */
typedef struct fl_runner {
  sidbeam_runner* runner;
  fl_events* events;
  int32_t beams, levels, adjusts;
} fl_runner;
#endif

/* A child inherits it, but not the lanes' threads: there it is never closed. */
static inline int fl_is_inherited(const fl_runner* runner) { return runner->events->process != getpid(); }

static inline void fl_destroy_runner(void* object) {
  fl_runner* runner = (fl_runner*)object;
  if (fl_is_inherited(runner)) return;
  fl_runner_api->runner_destroy(runner->runner);
  fl_end_events(runner->events);
  free(runner);
}

/* The numbers of sidbeam_runner_config in an array of FLAT_RUNNER_COUNT; 0 is the library's default. */
enum {
  FLAT_RUNNER_BEAMS,
  FLAT_RUNNER_NORMALIZATION,
  FLAT_RUNNER_STRATEGY,
  FLAT_RUNNER_MAX_PROMPT,
  FLAT_RUNNER_MAX_GROUP,
  FLAT_RUNNER_QUEUE_REQUESTS,
  FLAT_RUNNER_LANES,
  FLAT_RUNNER_LANE_THREADS,
  FLAT_RUNNER_BATCH_REQUESTS,
  FLAT_RUNNER_BATCH_ROWS,
  FLAT_RUNNER_WAIT_US,
  FLAT_RUNNER_ADJUST, /* 1: every level is an event, FLAT_EVENT_ADJUST, that must be answered; on the CPU */
  FLAT_RUNNER_SPECULATE,
  FLAT_RUNNER_DRAFT_BEAMS,
  FLAT_RUNNER_WITHOUT_REPLACEMENT,
  FLAT_RUNNER_MODE,
  FLAT_RUNNER_TOP_K,
  FLAT_RUNNER_OUTPUT_PATH,
  FLAT_RUNNER_MAX_LISTED,
  FLAT_RUNNER_COUNT
};

static inline int32_t fl_narrow(int64_t number) {
  return number > INT32_MAX ? INT32_MAX : number < INT32_MIN ? INT32_MIN : (int32_t)number;
}

static inline sidbeam_runner_config fl_runner_config(const int64_t* numbers) {
  sidbeam_runner_config config = SIDBEAM_RUNNER_CONFIG_INIT;
  config.beams = fl_narrow(numbers[FLAT_RUNNER_BEAMS]);
  config.normalization = fl_narrow(numbers[FLAT_RUNNER_NORMALIZATION]);
  config.strategy = fl_narrow(numbers[FLAT_RUNNER_STRATEGY]);
  config.max_prompt = numbers[FLAT_RUNNER_MAX_PROMPT];
  config.max_group = fl_narrow(numbers[FLAT_RUNNER_MAX_GROUP]);
  config.queue_requests = fl_narrow(numbers[FLAT_RUNNER_QUEUE_REQUESTS]);
  config.lanes = fl_narrow(numbers[FLAT_RUNNER_LANES]);
  config.lane_threads = fl_narrow(numbers[FLAT_RUNNER_LANE_THREADS]);
  config.batch_requests = fl_narrow(numbers[FLAT_RUNNER_BATCH_REQUESTS]);
  config.batch_rows = numbers[FLAT_RUNNER_BATCH_ROWS];
  config.wait_us = numbers[FLAT_RUNNER_WAIT_US];
  config.speculate = fl_narrow(numbers[FLAT_RUNNER_SPECULATE]);
  config.draft_beams = fl_narrow(numbers[FLAT_RUNNER_DRAFT_BEAMS]);
  config.without_replacement = fl_narrow(numbers[FLAT_RUNNER_WITHOUT_REPLACEMENT]);
  config.mode = fl_narrow(numbers[FLAT_RUNNER_MODE]);
  config.top_k = fl_narrow(numbers[FLAT_RUNNER_TOP_K]);
  config.output_path = fl_narrow(numbers[FLAT_RUNNER_OUTPUT_PATH]);
  config.max_listed = numbers[FLAT_RUNNER_MAX_LISTED];
  return config;
}

/* Of two models a message should say which: "model is closed" becomes "draft model is closed". */
static inline void fl_say_draft(sidbeam_error* err) {
  char message[sizeof(err->message)];
  memcpy(message, err->message, sizeof(message));
  snprintf(err->message, sizeof(err->message), "draft %.*s", (int)(sizeof(message) - sizeof("draft ")), message);
}

/* Makes the runner of a config whose models, head and constraint have been entered. */
static inline flat_handle* fl_make_runner(sidbeam_runtime* runtime, sidbeam_runner_config* config, int32_t adjusts,
                                          sidbeam_error* err) {
  sidbeam_constraint_info info = SIDBEAM_CONSTRAINT_INFO_INIT;
  fl_runner* made;
  if (sidbeam_constraint_get_info(config->constraint, &info, err) != SIDBEAM_OK) return NULL;
  made = (fl_runner*)calloc(1, sizeof(*made));
  if (made == NULL) abort();
  made->events = fl_make_events();
  made->beams = config->beams;
  made->levels = info.levels;
  made->adjusts = adjusts;
  if (adjusts) {
    config->adjust = fl_adjust;
    config->adjust_context = made->events;
  }
  if (fl_runner_api->runner_create(runtime, config, &made->runner, err) == SIDBEAM_OK)
    return fl_box(FLAT_RUNNER, made, fl_destroy_runner);
  fl_drop_events(made->events);
  free(made);
  return NULL;
}

/* draft and head may be NULL; numbers [FLAT_RUNNER_COUNT]; vocabulary as fl_vocabulary has it; begin_tokens or none;
 * placeholders [L] with a head, otherwise none. */
static inline flat_handle* flat_runner_create(flat_handle* runtime, flat_handle* model, flat_handle* draft,
                                              flat_handle* head, flat_handle* constraint, flat_in_i64 numbers,
                                              float inverse_temperature, float soft_cap, flat_in_i64 offsets,
                                              flat_in_i32 maps, flat_in_i64 map_codes, int64_t end_column,
                                              flat_in_i32 begin_tokens, flat_in_i32 placeholders, sidbeam_error* err) {
  sidbeam_vocabulary vocabulary = SIDBEAM_VOCABULARY_INIT;
  const int32_t* pointers[SIDBEAM_MAX_LEVELS];
  sidbeam_runner_config config;
  flat_handle* handle = NULL;
  void* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, numbers, FLAT_RUNNER_COUNT)) return NULL;
  config = fl_runner_config(numbers.data);
  if (fl_vocabulary(offsets, maps, map_codes, end_column, &vocabulary, pointers, err)) config.vocabulary = &vocabulary;
  config.inverse_temperature = inverse_temperature;
  config.soft_cap = soft_cap;
  config.begin_tokens = begin_tokens.data;
  config.begin_count = begin_tokens.count;
  config.placeholders = placeholders.data;
  config.placeholder_count = placeholders.count;
  object = fl_share(runtime, FLAT_RUNTIME, err);
  if (object == NULL) return NULL;
  config.model = (sidbeam_model*)fl_share(model, FLAT_MODEL, err);
  if (draft != NULL && err->code == 0) {
    config.draft = (sidbeam_model*)fl_share(draft, FLAT_MODEL, err);
    if (config.draft == NULL) fl_say_draft(err);
  }
  if (head != NULL && err->code == 0) config.head = (sidbeam_draft_head*)fl_share(head, FLAT_DRAFT_HEAD, err);
  config.constraint = (sidbeam_constraint*)fl_share(constraint, FLAT_CONSTRAINT, err);
  if (err->code == 0 && numbers.data[FLAT_RUNNER_ADJUST] != 0 && model->device_type != SIDBEAM_DEVICE_CPU)
    fl_fail(err, SIDBEAM_UNSUPPORTED, "adjust is given, expected none for a model on CUDA: the logits are there");
  if (err->code == 0)
    handle = fl_make_runner((sidbeam_runtime*)object, &config, numbers.data[FLAT_RUNNER_ADJUST] != 0, err);
  if (config.constraint != NULL) fl_drop_user(constraint);
  if (head != NULL && config.head != NULL) fl_drop_user(head); /* gcc 12 does not see that the first follows */
  if (config.draft != NULL) fl_drop_user(draft);
  if (config.model != NULL) fl_drop_user(model);
  fl_drop_user(runtime);
  return handle;
}

static inline void fl_destroy_events(void* object) { fl_drop_events((fl_events*)object); }

/* The runner's events, a handle of its own, which does not keep the runner. */
static inline flat_handle* flat_runner_events(flat_handle* runner, sidbeam_error* err) {
  fl_runner* object;
  flat_handle* handle;
  fl_clear(err);
  object = (fl_runner*)fl_share(runner, FLAT_RUNNER, err);
  if (object == NULL) return NULL;
  pthread_mutex_lock(&object->events->mutex);
  object->events->owners++;
  pthread_mutex_unlock(&object->events->mutex);
  handle = fl_box(FLAT_EVENTS, object->events, fl_destroy_events);
  fl_drop_user(runner);
  return handle;
}

/* A request with room for its result, in one piece. */
static inline fl_request* fl_make_request(const fl_runner* runner, int64_t tag) {
  const size_t beams = (size_t)(runner->beams > 0 ? runner->beams : 1), codes = beams * (size_t)runner->levels;
  const size_t lists = runner->adjusts ? 4 : 1;
  fl_request* request = (fl_request*)malloc(sizeof(*request) + beams * (sizeof(int64_t) + sizeof(float)) +
                                            lists * codes * sizeof(int32_t));
  if (request == NULL) return NULL;
  memset(request, 0, sizeof(*request));
  request->tag = tag;
  request->beams = (int32_t)beams;
  request->levels = runner->levels;
  request->ordinals = (int64_t*)(request + 1);
  request->scores = (float*)(request->ordinals + beams);
  request->sids = (int32_t*)(request->scores + beams);
  request->prefixes[0] = request->sids + codes; /* the last three are there only if a level may ask for them */
  request->prefixes[1] = request->prefixes[0] + codes;
  request->rows = request->prefixes[1] + codes;
  return request;
}

/* As in sidbeam_request; tokens [positions, group]; widths [width_levels] or none; constraint may be NULL. Taken by run
 * and submit alike. */
static inline fl_request* fl_fill_request(const fl_runner* runner, int64_t tag, flat_in_i32 tokens, int32_t group,
                                          int32_t beams, flat_in_i32 widths, int32_t priority, int64_t deadline_us,
                                          int64_t seed, int64_t sampling_request, sidbeam_request* out,
                                          sidbeam_error* err) {
  const int32_t width = group > 0 ? group : 1;
  fl_request* request;
  if (tokens.count % width != 0) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "tokens has %" PRId64 " elements, expected a multiple of group, %d",
            tokens.count, width);
    return NULL;
  }
  request = fl_make_request(runner, tag);
  if (request == NULL) {
    fl_fail(err, SIDBEAM_OUT_OF_MEMORY, "no memory for a result of %d beams", runner->beams);
    return NULL;
  }
  out->beams = beams;
  out->widths = widths.data;
  out->width_levels = widths.count < INT32_MAX ? (int32_t)widths.count : INT32_MAX;
  out->tokens = tokens.data;
  out->positions = tokens.count / width;
  out->group = group;
  out->priority = priority;
  out->deadline_us = deadline_us;
  out->seed = seed;
  out->sampling_request = sampling_request;
  out->done = fl_done;
  out->context = request;
  return request;
}

/* Runs a request on this thread; `out` [FLAT_RESULT_COUNT] gets its numbers, and flat_result_take must follow, unless
 * this fails. */
static inline void flat_runner_run(flat_handle* runner, int64_t tag, flat_in_i32 tokens, int32_t group, int32_t beams,
                                   flat_in_i32 widths, int32_t priority, flat_handle* constraint, int64_t deadline_us,
                                   int64_t seed, int64_t sampling_request, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  fl_request* own = NULL;
  fl_runner* object;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_RESULT_COUNT)) return;
  object = (fl_runner*)fl_share(runner, FLAT_RUNNER, err);
  if (object == NULL) return;
  if (constraint != NULL) request.constraint = (sidbeam_constraint*)fl_share(constraint, FLAT_CONSTRAINT, err);
  if (err->code == 0)
    own = fl_fill_request(object, tag, tokens, group, beams, widths, priority, deadline_us, seed, sampling_request,
                          &request, err);
  if (own != NULL && fl_runner_api->runner_run(object->runner, &request, err) == SIDBEAM_OK) {
    fl_put_result(own, out.data);
  } else {
    free(own);
  }
  if (constraint != NULL && request.constraint != NULL) fl_drop_user(constraint);
  fl_drop_user(runner);
}

/* Submits a request and returns its number; its result comes as an event with `tag`, perhaps before this returns. */
static inline int64_t flat_runner_submit(flat_handle* runner, int64_t tag, flat_in_i32 tokens, int32_t group,
                                         int32_t beams, flat_in_i32 widths, int32_t priority, flat_handle* constraint,
                                         int64_t deadline_us, int64_t seed, int64_t sampling_request,
                                         sidbeam_error* err) {
  sidbeam_request request = SIDBEAM_REQUEST_INIT;
  fl_request* own = NULL;
  fl_runner* object;
  int64_t id = 0;
  fl_clear(err);
  object = (fl_runner*)fl_share(runner, FLAT_RUNNER, err);
  if (object == NULL) return 0;
  if (constraint != NULL) request.constraint = (sidbeam_constraint*)fl_share(constraint, FLAT_CONSTRAINT, err);
  if (err->code == 0)
    own = fl_fill_request(object, tag, tokens, group, beams, widths, priority, deadline_us, seed, sampling_request,
                          &request, err);
  if (own != NULL) {
    own->events = object->events;
    if (fl_runner_api->runner_submit(object->runner, &request, &id, err) != SIDBEAM_OK) free(own);
  }
  if (constraint != NULL && request.constraint != NULL) fl_drop_user(constraint);
  fl_drop_user(runner);
  return id;
}

static inline void flat_runner_cancel(flat_handle* runner, int64_t id, sidbeam_error* err) {
  fl_runner* object;
  fl_clear(err);
  object = (fl_runner*)fl_share(runner, FLAT_RUNNER, err);
  if (object == NULL) return;
  (void)!fl_runner_api->runner_cancel(object->runner, id, err);
  fl_drop_user(runner);
}

/* 1 if no request is waiting or running; waits for that, at most timeout_us (0: no limit). */
static inline int32_t flat_runner_drain(flat_handle* runner, int64_t timeout_us, sidbeam_error* err) {
  fl_runner* object;
  int32_t idle = 0;
  fl_clear(err);
  object = (fl_runner*)fl_share(runner, FLAT_RUNNER, err);
  if (object == NULL) return 0;
  (void)!fl_runner_api->runner_drain(object->runner, timeout_us, &idle, err);
  fl_drop_user(runner);
  return idle;
}

/* Where the numbers of sidbeam_runner_stats stand in an array of FLAT_RUNNER_STATS_COUNT; percentiles are P50, P90, P99
 * and P99.9. */
enum {
  FLAT_RUNNER_STATS_LANES,
  FLAT_RUNNER_STATS_QUEUED,
  FLAT_RUNNER_STATS_RUNNING,
  FLAT_RUNNER_STATS_SUBMITTED,
  FLAT_RUNNER_STATS_FINISHED,
  FLAT_RUNNER_STATS_FAILED,
  FLAT_RUNNER_STATS_CANCELLED,
  FLAT_RUNNER_STATS_EXPIRED,
  FLAT_RUNNER_STATS_REFUSED,
  FLAT_RUNNER_STATS_BATCHES,
  FLAT_RUNNER_STATS_BATCH_REQUESTS,
  FLAT_RUNNER_STATS_BATCH_ROWS,
  FLAT_RUNNER_STATS_BUSY_US,
  FLAT_RUNNER_STATS_UP_US,
  FLAT_RUNNER_STATS_MEMORY_BYTES,
  FLAT_RUNNER_STATS_ROUNDS,
  FLAT_RUNNER_STATS_ROUND_LEVELS,
  FLAT_RUNNER_STATS_DRAFTED_LEVELS,
  FLAT_RUNNER_STATS_ACCEPTED_LEVELS,
  FLAT_RUNNER_STATS_NODES,
  FLAT_RUNNER_STATS_DRAFT_US,
  FLAT_RUNNER_STATS_QUEUED_US,
  FLAT_RUNNER_STATS_RUN_US = FLAT_RUNNER_STATS_QUEUED_US + 4,
  FLAT_RUNNER_STATS_TOTAL_US = FLAT_RUNNER_STATS_RUN_US + 4,
  FLAT_RUNNER_STATS_COUNT = FLAT_RUNNER_STATS_TOTAL_US + 4
};

static inline void flat_runner_get_stats(flat_handle* runner, flat_out_i64 out, sidbeam_error* err) {
  sidbeam_runner_stats stats = SIDBEAM_RUNNER_STATS_INIT;
  fl_runner* object;
  int32_t i;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_RUNNER_STATS_COUNT)) return;
  object = (fl_runner*)fl_share(runner, FLAT_RUNNER, err);
  if (object == NULL) return;
  if (fl_runner_api->runner_get_stats(object->runner, &stats, err) == SIDBEAM_OK) {
    out.data[FLAT_RUNNER_STATS_LANES] = stats.lanes;
    out.data[FLAT_RUNNER_STATS_QUEUED] = stats.queued;
    out.data[FLAT_RUNNER_STATS_RUNNING] = stats.running;
    out.data[FLAT_RUNNER_STATS_SUBMITTED] = stats.submitted;
    out.data[FLAT_RUNNER_STATS_FINISHED] = stats.finished;
    out.data[FLAT_RUNNER_STATS_FAILED] = stats.failed;
    out.data[FLAT_RUNNER_STATS_CANCELLED] = stats.cancelled;
    out.data[FLAT_RUNNER_STATS_EXPIRED] = stats.expired;
    out.data[FLAT_RUNNER_STATS_REFUSED] = stats.refused;
    out.data[FLAT_RUNNER_STATS_BATCHES] = stats.batches;
    out.data[FLAT_RUNNER_STATS_BATCH_REQUESTS] = stats.batch_requests;
    out.data[FLAT_RUNNER_STATS_BATCH_ROWS] = stats.batch_rows;
    out.data[FLAT_RUNNER_STATS_BUSY_US] = stats.busy_us;
    out.data[FLAT_RUNNER_STATS_UP_US] = stats.up_us;
    out.data[FLAT_RUNNER_STATS_MEMORY_BYTES] = stats.memory_bytes;
    out.data[FLAT_RUNNER_STATS_ROUNDS] = stats.rounds;
    out.data[FLAT_RUNNER_STATS_ROUND_LEVELS] = stats.round_levels;
    out.data[FLAT_RUNNER_STATS_DRAFTED_LEVELS] = stats.drafted_levels;
    out.data[FLAT_RUNNER_STATS_ACCEPTED_LEVELS] = stats.accepted_levels;
    out.data[FLAT_RUNNER_STATS_NODES] = stats.nodes;
    out.data[FLAT_RUNNER_STATS_DRAFT_US] = stats.draft_us;
    for (i = 0; i < 4; i++) {
      out.data[FLAT_RUNNER_STATS_QUEUED_US + i] = stats.queued_us[i];
      out.data[FLAT_RUNNER_STATS_RUN_US + i] = stats.run_us[i];
      out.data[FLAT_RUNNER_STATS_TOTAL_US + i] = stats.total_us[i];
    }
  }
  fl_drop_user(runner);
}

/* Takes no more requests, ends the waiting ones as CANCELLED, waits for the running ones, and closes the handle. The
 * events of all of them are in the queue then, and levels are asked for until then. Closing again does nothing. */
static inline void flat_runner_close(flat_handle* runner, sidbeam_error* err) {
  fl_runner* object;
  fl_clear(err);
  if (!fl_is(runner, FLAT_RUNNER, err) || flat_is_closed(runner)) return;
  object = (fl_runner*)fl_share(runner, FLAT_RUNNER, err);
  if (object == NULL) { /* another thread was faster */
    fl_clear(err);
    return;
  }
  if (!fl_is_inherited(object)) (void)!fl_runner_api->runner_close(object->runner, err);
  fl_drop_user(runner);
  if (err->code == 0) flat_close(runner);
}

#endif
