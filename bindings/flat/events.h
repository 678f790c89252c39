/* What a runner has to say to a language: requests that are done, and levels to be adjusted. See flat.h.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The runner's callbacks come on threads that no virtual machine knows, perhaps while it ends. They enter no language:
 * each becomes an event of one queue per runner, for which threads of the language wait in flat_events_next. A lane
 * whose level is to be adjusted waits for the answer. The queue outlives the runner, so that the last events are found:
 * a runner's end is its last event. */
#ifndef SIDBEAM_FLAT_EVENTS_H
#define SIDBEAM_FLAT_EVENTS_H

#include <pthread.h>
#include <unistd.h>

/* What flat_events_next returns. */
enum { FLAT_EVENT_END = 0, FLAT_EVENT_DONE = 1, FLAT_EVENT_ADJUST = 2 };

/* Where the numbers of a finished request stand in an array of FLAT_RESULT_COUNT. */
enum {
  FLAT_RESULT_TAG,    /* that the language gave to the request */
  FLAT_RESULT_NUMBER, /* for flat_result_take, which must follow */
  FLAT_RESULT_STATUS,
  FLAT_RESULT_REQUEST,
  FLAT_RESULT_LIVE,
  FLAT_RESULT_LEVELS,
  FLAT_RESULT_QUEUED_US,
  FLAT_RESULT_RUN_US,
  FLAT_RESULT_BATCH,
  FLAT_RESULT_ROUNDS, /* this and the rest: 0 without a draft */
  FLAT_RESULT_DRAFTED_LEVELS,
  FLAT_RESULT_ACCEPTED_LEVELS,
  FLAT_RESULT_DRAFT_US,
  FLAT_RESULT_COUNT
};

/* Likewise of a level to be adjusted. */
enum {
  FLAT_ADJUST_TAG,
  FLAT_ADJUST_NUMBER, /* for flat_adjust_answer, which must follow */
  FLAT_ADJUST_REQUEST,
  FLAT_ADJUST_LEVEL,
  FLAT_ADJUST_LOGITS, /* address of f32 [rows, row_stride], of which `columns` are meant, to be changed in place */
  FLAT_ADJUST_ROWS,
  FLAT_ADJUST_COLUMNS,
  FLAT_ADJUST_ROW_STRIDE,
  FLAT_ADJUST_PREFIXES, /* address of int32 [rows, level] codes so far */
  FLAT_ADJUST_OFFSET,   /* column of the level's code 0, if there is no map */
  FLAT_ADJUST_MAP,      /* address of int32 [map_codes] columns of the codes, -1 none; 0: no map */
  FLAT_ADJUST_MAP_CODES,
  FLAT_ADJUST_END_COLUMN, /* -1: none */
  FLAT_ADJUST_COUNT
};
enum { FLAT_EVENT_COUNT = FLAT_ADJUST_COUNT };

#ifndef SWIG
typedef struct fl_event {
  struct fl_event* next;
  int32_t kind;
} fl_event;

typedef struct fl_events {
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  fl_event *first, **last;
  int32_t ended, owners;
  pid_t process; /* a child has not the threads that may have locked it: fl_drop_events() leaves it there */
} fl_events;

/* A request from its submission until its result is taken; the arrays lie behind it. */
typedef struct fl_request {
  fl_event event;
  fl_events* events; /* NULL: run() waits for it */
  int64_t tag;
  int32_t beams, levels; /* of the runner: room of the arrays */
  /* The last callback's record, and the result. */
  int32_t* prefixes[2]; /* [beams, levels] codes of all beams at this level and the one before; NULL without adjust */
  int32_t* rows;        /* [beams, levels] those of the rows, as the language sees them */
  sidbeam_result result;
  char message[sizeof(((sidbeam_error*)NULL)->message)];
  int32_t* sids;
  float* scores;
  int64_t* ordinals;
} fl_request;

/* A lane that waits for the language, on the lane's stack. */
typedef struct fl_adjusting {
  fl_event event;
  fl_request* request;
  const sidbeam_level* level;
  pthread_cond_t answered;
  int32_t is_answered, verdict;
} fl_adjusting;
#endif

static inline fl_events* fl_make_events(void) {
  fl_events* events = (fl_events*)calloc(1, sizeof(*events));
  if (events == NULL) abort();
  pthread_mutex_init(&events->mutex, NULL);
  pthread_cond_init(&events->changed, NULL);
  events->last = &events->first;
  events->owners = 1;
  events->process = getpid();
  return events;
}

/* Forgets one owner, the runner or a handle; with the last the queue goes, and results that nobody took. */
static inline void fl_drop_events(fl_events* events) {
  int32_t left;
  if (events->process != getpid()) return;
  pthread_mutex_lock(&events->mutex);
  left = --events->owners;
  pthread_mutex_unlock(&events->mutex);
  if (left > 0) return;
  while (events->first != NULL) {
    fl_event* event = events->first;
    events->first = event->next;
    free(event); /* a result: no lane waits where there is no runner */
  }
  pthread_cond_destroy(&events->changed);
  pthread_mutex_destroy(&events->mutex);
  free(events);
}

/* The runner is gone: what is in the queue is the last. */
static inline void fl_end_events(fl_events* events) {
  pthread_mutex_lock(&events->mutex);
  events->ended = 1;
  pthread_cond_broadcast(&events->changed);
  pthread_mutex_unlock(&events->mutex);
  fl_drop_events(events);
}

static inline void fl_put_event_locked(fl_events* events, fl_event* event, int32_t kind) {
  event->next = NULL;
  event->kind = kind;
  *events->last = event;
  events->last = &event->next;
  pthread_cond_signal(&events->changed);
}

static inline void fl_put_result(const fl_request* request, int64_t* out) {
  out[FLAT_RESULT_TAG] = request->tag;
  out[FLAT_RESULT_NUMBER] = (int64_t)(intptr_t)request;
  out[FLAT_RESULT_STATUS] = request->result.status;
  out[FLAT_RESULT_REQUEST] = request->result.request;
  out[FLAT_RESULT_LIVE] = request->result.live;
  out[FLAT_RESULT_LEVELS] = request->result.levels;
  out[FLAT_RESULT_QUEUED_US] = request->result.queued_us;
  out[FLAT_RESULT_RUN_US] = request->result.run_us;
  out[FLAT_RESULT_BATCH] = request->result.batch;
  out[FLAT_RESULT_ROUNDS] = request->result.rounds;
  out[FLAT_RESULT_DRAFTED_LEVELS] = request->result.drafted_levels;
  out[FLAT_RESULT_ACCEPTED_LEVELS] = request->result.accepted_levels;
  out[FLAT_RESULT_DRAFT_US] = request->result.draft_us;
}

static inline void fl_put_adjusting(const fl_adjusting* adjusting, int64_t* out) {
  const sidbeam_level* level = adjusting->level;
  const sidbeam_vocabulary* columns = level->columns_of;
  const int32_t l = level->level;
  const int has_map = columns->maps != NULL && columns->maps[l] != NULL;
  out[FLAT_ADJUST_TAG] = adjusting->request->tag;
  out[FLAT_ADJUST_NUMBER] = (int64_t)(intptr_t)adjusting;
  out[FLAT_ADJUST_REQUEST] = level->request;
  out[FLAT_ADJUST_LEVEL] = l;
  out[FLAT_ADJUST_LOGITS] = (int64_t)(intptr_t)level->logits;
  out[FLAT_ADJUST_ROWS] = level->rows;
  out[FLAT_ADJUST_COLUMNS] = level->columns;
  out[FLAT_ADJUST_ROW_STRIDE] = level->row_stride;
  out[FLAT_ADJUST_PREFIXES] = (int64_t)(intptr_t)adjusting->request->rows;
  out[FLAT_ADJUST_OFFSET] = columns->offsets == NULL ? 0 : columns->offsets[l];
  out[FLAT_ADJUST_MAP] = has_map ? (int64_t)(intptr_t)columns->maps[l] : 0;
  out[FLAT_ADJUST_MAP_CODES] = has_map && columns->map_codes != NULL ? columns->map_codes[l] : 0;
  out[FLAT_ADJUST_END_COLUMN] = columns->end_column;
}

/* Codes so far of the level's rows, from the last step's parents and codes. */
static inline void fl_follow_beams(fl_request* request, const sidbeam_level* level) {
  const int32_t l = level->level, width = request->levels, M = level->beams->beams;
  int32_t *now = request->prefixes[l & 1], *before = request->prefixes[(l & 1) ^ 1];
  int64_t r;
  int32_t m;
  for (m = 0; l > 0 && m < level->beams->live[level->slot] && m < request->beams; m++) {
    const int64_t at = (int64_t)level->slot * M + m;
    memcpy(now + (int64_t)m * width, before + (int64_t)level->beams->parents[at] * width,
           sizeof(*now) * (size_t)(l - 1));
    now[(int64_t)m * width + l - 1] = level->beams->codes[at];
  }
  for (r = 0; l > 0 && r < level->rows && r < request->beams; r++)
    memcpy(request->rows + r * l, now + (int64_t)level->row_beams[r] * width, sizeof(*now) * (size_t)l);
}

/* sidbeam_runner_config.adjust: asks the language, and waits. */
static inline int32_t fl_adjust(void* context, const sidbeam_level* level) {
  fl_events* events = (fl_events*)context;
  fl_adjusting adjusting = {{NULL, 0}, (fl_request*)level->request_context, level, PTHREAD_COND_INITIALIZER, 0, 0};
  fl_follow_beams(adjusting.request, level);
  pthread_mutex_lock(&events->mutex);
  fl_put_event_locked(events, &adjusting.event, FLAT_EVENT_ADJUST);
  while (!adjusting.is_answered) pthread_cond_wait(&adjusting.answered, &events->mutex);
  pthread_mutex_unlock(&events->mutex);
  pthread_cond_destroy(&adjusting.answered);
  return adjusting.verdict;
}

/* sidbeam_request.done: keeps the result for whoever waits. */
static inline void fl_done(void* context, const sidbeam_result* result) {
  fl_request* request = (fl_request*)context;
  fl_events* events = request->events;
  const size_t live = (size_t)result->live, levels = (size_t)result->levels;
  request->result = *result;
  snprintf(request->message, sizeof(request->message), "%s", result->message);
  if (live > 0) {
    memcpy(request->sids, result->sids, live * levels * sizeof(*request->sids));
    memcpy(request->scores, result->scores, live * sizeof(*request->scores));
    memcpy(request->ordinals, result->ordinals, live * sizeof(*request->ordinals));
  }
  if (events == NULL) return;
  pthread_mutex_lock(&events->mutex);
  fl_put_event_locked(events, &request->event, FLAT_EVENT_DONE);
  pthread_mutex_unlock(&events->mutex); /* whoever waited may have freed the request */
}

/* Waits for the next event, FLAT_EVENT_*, whose numbers `out` [FLAT_EVENT_COUNT] gets. Any number of threads may wait;
 * after the end each of them gets FLAT_EVENT_END. */
static inline int32_t flat_events_next(flat_handle* events, flat_out_i64 out, sidbeam_error* err) {
  fl_events* queue;
  fl_event* event;
  int32_t kind = FLAT_EVENT_END;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, FLAT_EVENT_COUNT)) return FLAT_EVENT_END;
  queue = (fl_events*)fl_share(events, FLAT_EVENTS, err);
  if (queue == NULL) return FLAT_EVENT_END;
  pthread_mutex_lock(&queue->mutex);
  while (queue->first == NULL && !queue->ended) pthread_cond_wait(&queue->changed, &queue->mutex);
  event = queue->first;
  if (event != NULL) {
    queue->first = event->next;
    if (queue->first == NULL) queue->last = &queue->first;
    kind = event->kind;
    if (kind == FLAT_EVENT_DONE) {
      fl_put_result((const fl_request*)event, out.data);
    } else {
      fl_put_adjusting((const fl_adjusting*)event, out.data);
    }
  }
  pthread_mutex_unlock(&queue->mutex);
  fl_drop_user(events);
  return kind;
}

/* Lets the lane go on; verdict 0, or ends the request as CANCELLED. `number`: FLAT_ADJUST_NUMBER, once. */
static inline void flat_adjust_answer(flat_handle* events, int64_t number, int32_t verdict, sidbeam_error* err) {
  fl_adjusting* adjusting = (fl_adjusting*)(intptr_t)number;
  fl_events* queue;
  fl_clear(err);
  queue = (fl_events*)fl_share(events, FLAT_EVENTS, err);
  if (queue == NULL) return;
  pthread_mutex_lock(&queue->mutex);
  adjusting->verdict = verdict;
  adjusting->is_answered = 1;
  pthread_cond_signal(&adjusting->answered);
  pthread_mutex_unlock(&queue->mutex);
  fl_drop_user(events);
}

/* The result of a finished request: sids [live, levels], scores, ordinals [live], each or none; or its failure as an
 * error. `number`: FLAT_RESULT_NUMBER, once. */
static inline void flat_result_take(int64_t number, flat_out_i32 sids, flat_out_f32 scores, flat_out_i64 ordinals,
                                    sidbeam_error* err) {
  fl_request* request = (fl_request*)(intptr_t)number;
  const int64_t live = request->result.live, levels = request->result.levels;
  fl_clear(err);
  if (request->result.status != SIDBEAM_OK) {
    fl_fail(err, request->result.status, "%s", request->message);
  } else if (FLAT_NEED(err, sids, live * levels) && FLAT_NEED(err, scores, live) && FLAT_NEED(err, ordinals, live)) {
    if (sids.data != NULL) memcpy(sids.data, request->sids, (size_t)(live * levels) * sizeof(*sids.data));
    if (scores.data != NULL) memcpy(scores.data, request->scores, (size_t)live * sizeof(*scores.data));
    if (ordinals.data != NULL) memcpy(ordinals.data, request->ordinals, (size_t)live * sizeof(*ordinals.data));
  }
  free(request);
}

#endif
