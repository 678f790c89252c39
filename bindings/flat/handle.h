/* Handles that survive what garbage collectors and threads do to them. See flat.h. SPDX-License-Identifier: Apache-2.0
 *
 * A language's object owns a box; the box owns the object of the C ABI. A call enters the box and leaves it. Closing
 * marks the box, and the last to leave destroys the object, so that a close during a call, or while views of a
 * session's arrays live, frees nothing that is in use. The box itself goes when its owner and its views are gone. */
#ifndef SIDBEAM_FLAT_HANDLE_H
#define SIDBEAM_FLAT_HANDLE_H

#include <stdatomic.h>
#include <stdlib.h>

enum {
  FLAT_RUNTIME = 0,
  FLAT_BUILDER = 1,
  FLAT_INDEX = 2,
  FLAT_CONSTRAINT = 3,
  FLAT_SESSION = 4,
  FLAT_CONSTRAINT_SET = 5,
  FLAT_PLAN = 6,
  FLAT_DISC = 7,
  FLAT_MODEL = 8,
  FLAT_RUNNER = 9,
  FLAT_EVENTS = 10,
  FLAT_DRAFT_HEAD = 11,
  FLAT_DRAFT_DECODER = 12,
  FLAT_OUTPUT_LAYER = 13,
  FLAT_HIDDEN = 14,
  FLAT_SPECULATION = 15,
  FLAT_IMPORT = 16,
  FLAT_FILTER = 17,
  FLAT_COLUMNS = 18,
  FLAT_CATALOG = 19,
  FLAT_COMPACTION = 20
};

typedef struct flat_handle flat_handle;
#ifndef SWIG
struct flat_handle {
  int32_t kind;
  _Atomic(void*) object;
  void (*destroy)(void* object);
  atomic_llong users;  /* calls inside and views alive; FLAT_CLOSED once closed */
  atomic_llong owners; /* of the box: the language's object, and every user */
  atomic_int busy;     /* 1 while a call is inside a kind that serves one thread at a time */
  int32_t levels;      /* of a builder and a catalogue: codes of their SIDs; of a constraint set: the most of any */
  int32_t device_type; /* of a session, a constraint set, a model and a draft decoder */
  int32_t results;     /* of a disc; of a draft decoder its beams */
  int32_t id_type;     /* of a builder */
  atomic_int cancel;   /* of a build, an import and a compaction, as are its reports */
  /* Written by the thread that does it, read by any; in turn to two places: the last one stays as it is while the next
   * is written. */
  atomic_uint reports;
  struct {
    atomic_llong phase, done, total;
  } report[2];
};
#endif

#define FLAT_CLOSED (1LL << 62)

static inline const char* fl_kind_name(int32_t kind) {
  static const char* const names[] = {
      "runtime",     "builder",     "index",  "constraint", "session",          "constraint set", "plan",
      "disc",        "model",       "runner", "events",     "draft head",       "draft decoder",  "output layer",
      "hidden step", "speculation", "import", "filter",     "attribute values", "catalogue",      "compaction"};
  return names[kind];
}

/* A box around an object that a call of the C ABI has made. What ends such an object its kind says, in its own header:
 * this one knows none of them. */
static inline flat_handle* fl_box(int32_t kind, void* object, void (*destroy)(void* object)) {
  flat_handle* handle = (flat_handle*)calloc(1, sizeof(*handle));
  if (handle == NULL) abort(); /* 120 bytes: if these cannot be had, nothing of the caller's can be saved */
  handle->kind = kind;
  handle->destroy = destroy;
  atomic_init(&handle->object, object);
  atomic_init(&handle->owners, 1);
  return handle;
}

static inline void fl_drop_owner(flat_handle* handle) {
  if (atomic_fetch_sub(&handle->owners, 1) == 1) free(handle);
}

/* Ends what fl_share began. */
static inline void fl_drop_user(flat_handle* handle) {
  /* Somebody who came too late may also be the last to leave: the exchange lets only one of them destroy. */
  if (atomic_fetch_sub(&handle->users, 1) == (FLAT_CLOSED | 1)) {
    void* object = atomic_exchange(&handle->object, NULL);
    if (object != NULL) handle->destroy(object);
  }
  fl_drop_owner(handle);
}

/* 1 if it is a handle of this kind; otherwise sets an error. */
static inline int fl_is(flat_handle* handle, int32_t kind, sidbeam_error* err) {
  if (handle != NULL && handle->kind == kind) return 1;
  fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "%s is %s, expected a handle of it", fl_kind_name(kind),
          handle == NULL ? "null" : fl_kind_name(handle->kind));
  return 0;
}

/* The object, until fl_drop_user, or NULL with an error. */
static inline void* fl_share(flat_handle* handle, int32_t kind, sidbeam_error* err) {
  if (err->code != 0 || !fl_is(handle, kind, err)) return NULL;
  atomic_fetch_add(&handle->owners, 1);
  if (atomic_fetch_add(&handle->users, 1) & FLAT_CLOSED) {
    fl_drop_user(handle);
    fl_fail(err, SIDBEAM_BAD_STATE, "%s is closed", fl_kind_name(kind));
    return NULL;
  }
  return atomic_load(&handle->object);
}

/* The same for what serves one thread at a time: builders, imports, sessions, discs, draft decoders, steps from hidden
 * states, speculations. */
static inline void* fl_enter(flat_handle* handle, int32_t kind, sidbeam_error* err) {
  void* object = fl_share(handle, kind, err);
  if (object != NULL && atomic_exchange(&handle->busy, 1) != 0) {
    fl_drop_user(handle);
    fl_fail(err, SIDBEAM_BAD_STATE, "%s is in use by another thread", fl_kind_name(kind));
    return NULL;
  }
  return object;
}

static inline void fl_leave(flat_handle* handle) {
  atomic_store(&handle->busy, 0);
  fl_drop_user(handle);
}

/* Closes; closing again does nothing. The object goes now, or with the last call and the last view. */
static inline void flat_close(flat_handle* handle) {
  if (handle == NULL) return;
  if (atomic_fetch_or(&handle->users, FLAT_CLOSED) == 0) {
    void* object = atomic_exchange(&handle->object, NULL);
    if (object != NULL) handle->destroy(object);
  }
}

static inline int32_t flat_is_closed(flat_handle* handle) {
  return handle == NULL || (atomic_load(&handle->users) & FLAT_CLOSED) != 0;
}

/* The owner is gone: closes, and gives the box back. Called once per handle. */
static inline void flat_free(flat_handle* handle) {
  if (handle == NULL) return;
  flat_close(handle);
  fl_drop_owner(handle);
}

/* Progress is stored for languages to poll, and so is a request to cancel: no callback enters them. */
static inline int32_t fl_progress(void* context, int32_t phase, int64_t done, int64_t total) {
  flat_handle* handle = (flat_handle*)context;
  const unsigned number = atomic_load(&handle->reports) + 1;
  atomic_store(&handle->report[number % 2].phase, phase);
  atomic_store(&handle->report[number % 2].done, done);
  atomic_store(&handle->report[number % 2].total, total);
  atomic_store(&handle->reports, number);
  return atomic_load(&handle->cancel);
}

/* Phase (SIDBEAM_PHASE_*), done and total of the running call of a builder, an import or a compaction, from one report;
 * from any thread, at any time. */
static inline void flat_get_progress(flat_handle* handle, flat_out_i64 out, sidbeam_error* err) {
  unsigned number;
  fl_clear(err);
  if (!FLAT_GIVEN(err, out, 3)) return;
  if (handle == NULL) {
    fl_fail(err, SIDBEAM_INVALID_ARGUMENT, "handle is null, expected one of what can be watched");
    return;
  }
  do { /* again if a report came meanwhile: the one after it goes where this one is read */
    number = atomic_load(&handle->reports);
    out.data[0] = atomic_load(&handle->report[number % 2].phase);
    out.data[1] = atomic_load(&handle->report[number % 2].done);
    out.data[2] = atomic_load(&handle->report[number % 2].total);
  } while (atomic_load(&handle->reports) != number);
}

/* 1: the running call, or the next one, ends with CANCELLED; 0: takes that back. From any thread, at any time. */
static inline void flat_cancel(flat_handle* handle, int32_t cancel) {
  if (handle != NULL) atomic_store(&handle->cancel, cancel);
}

/* A view of the arrays of a session, a speculation or a draft decoder begins; it keeps them alive until
 * flat_view_release. */
static inline void flat_view_retain(flat_handle* owner, sidbeam_error* err) {
  const int32_t kind = owner == NULL ? FLAT_SESSION : owner->kind;
  fl_clear(err);
  (void)fl_share(owner, kind == FLAT_SPECULATION || kind == FLAT_DRAFT_DECODER ? kind : FLAT_SESSION, err);
}

static inline void flat_view_release(flat_handle* owner) { fl_drop_user(owner); }

#endif
