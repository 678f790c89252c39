/* sidbeam: statuses, errors and the conventions of every header. Start with sidbeam.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_BASE_H
#define SIDBEAM_BASE_H

#include <stddef.h>
#include <stdint.h>

#define SIDBEAM_VERSION_MAJOR 0
#define SIDBEAM_VERSION_MINOR 1
#define SIDBEAM_VERSION_PATCH 0
/* Version of the functions and structs below; it is also the SOVERSION. Functions and trailing struct fields are added
 * without changing it. */
#define SIDBEAM_ABI_VERSION 1u

#ifndef SIDBEAM_API
#if defined(SWIG)
#define SIDBEAM_API
#elif defined(__GNUC__)
#define SIDBEAM_API __attribute__((visibility("default")))
#else
#define SIDBEAM_API
#endif
#endif

#ifndef SIDBEAM_NODISCARD
#if defined(__GNUC__) && !defined(SWIG)
#define SIDBEAM_NODISCARD __attribute__((warn_unused_result))
#else
#define SIDBEAM_NODISCARD
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Outcome of a call: 0 is success. A number that you do not know is a failure of a kind that came later;
 * sidbeam_status_name() names it. */
typedef int32_t sidbeam_status;
enum {
  SIDBEAM_OK = 0,
  SIDBEAM_INVALID_ARGUMENT = 1, /* an argument, a struct field or a value in a caller's array; the message names it */
  SIDBEAM_OUT_OF_MEMORY = 2,    /* the allocator gave nothing, or the build would pass its memory limit */
  SIDBEAM_IO_ERROR = 3,         /* the operating system refused: no such file, no space, no permission */
  SIDBEAM_CORRUPT = 4,          /* the bytes of an index are damaged, or are none */
  SIDBEAM_UNSUPPORTED = 5,      /* made for a newer library, or a combination that is not offered */
  SIDBEAM_MISSING_SECTION = 6,  /* the index was built without what this call needs; the message names the option */
  SIDBEAM_COLLISION = 7,        /* two items share a SID and the builder was told to refuse that */
  SIDBEAM_CANCELLED = 8,        /* the progress callback asked to stop */
  SIDBEAM_BAD_STATE = 9,        /* at the wrong time: a slot that is finished, a builder that has been sorted */
  SIDBEAM_NO_DEVICE = 10,       /* the device or the plugin that drives it is not there */
  SIDBEAM_INTERNAL = 11,        /* a defect of this library */
  SIDBEAM_DEVICE_ERROR = 12     /* the device reported an error, in this call or in work enqueued before it */
};

/* Where a failing call writes its message. The caller owns it; it is written by the very call that it is given to, and
 * only when that call fails, so it is right also where a language moves work between threads. NULL is allowed
 * everywhere. A message is one line of UTF-8: what, expected, came; of names in it, bytes that a terminal would obey
 * (control characters, marks that turn the direction of writing) and what is no UTF-8 are written \xNN. */
typedef struct sidbeam_error {
  uint32_t struct_size; /* sizeof(sidbeam_error); a smaller one is left unwritten */
  int32_t code;         /* the status that the call returned */
  char message[504];    /* NUL-terminated; cut where it would not fit */
} sidbeam_error;
#define SIDBEAM_ERROR_INIT                    \
  {                                           \
    (uint32_t)sizeof(sidbeam_error), 0, { 0 } \
  }

/* Version of the library that is loaded, for instance "0.1.0"; static storage. */
SIDBEAM_API const char* sidbeam_version(void);
/* SIDBEAM_ABI_VERSION of the library that is loaded. */
SIDBEAM_API uint32_t sidbeam_abi_version(void);
/* "ok", "invalid argument", ...; "unknown status" for numbers that this library does not know; static storage. */
SIDBEAM_API const char* sidbeam_status_name(sidbeam_status code);
/* The instruction set that CPU kernels use by default on this machine: "baseline", "avx2", "avx512" or "neon"; static
 * storage. */
SIDBEAM_API const char* sidbeam_cpu_target(void);

/* Handles. Each is opaque:
 *   runtime             immutable: share freely, release from any thread.
 *   index, constraint   immutable, reference-counted: share freely, retain and release from any thread.
 *   table               immutable: many threads may use it, one destroys it.
 *   builder, session    one thread at a time, any thread.
 * Releasing or destroying NULL does nothing. */
typedef struct sidbeam_runtime sidbeam_runtime;
typedef struct sidbeam_builder sidbeam_builder;
typedef struct sidbeam_index sidbeam_index;
typedef struct sidbeam_constraint sidbeam_constraint;
typedef struct sidbeam_session sidbeam_session;
typedef struct sidbeam_table sidbeam_table;

#ifdef __cplusplus
}
#endif
#endif
