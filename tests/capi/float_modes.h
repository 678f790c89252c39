/* Calls in every floating-point mode that a caller may be in. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_FLOAT_MODES_H
#define SIDBEAM_TESTS_CAPI_FLOAT_MODES_H

#include "fixtures.h"

/* Bits of the MXCSR that are set, those that are cleared, and the rounding of all units. */
typedef struct float_mode {
  const char* name;
  unsigned set, clear;
  int rounding;
} float_mode;

enum { FLOAT_MODES = 8, ROUNDED_DOWN = 3, FLUSHED_ROUNDED_UP = 6 };
extern const float_mode float_modes[FLOAT_MODES]; /* the first is the default */

unsigned get_float_csr(void);
void set_float_csr(unsigned csr);
void enter_float_mode(const float_mode* mode);

/* The outcome of a call: status and message, and everything that it wrote. */
typedef struct call_outcome {
  sidbeam_status status;
  char message[sizeof err.message];
  uint32_t words[512];
  size_t count;
} call_outcome;

void keep_status(call_outcome* o, sidbeam_status status);
void keep_words(call_outcome* o, const void* data, size_t bytes);

/* Runs `call` in every mode, which it must leave unchanged, and compares with the default; returns that. `call` may do
 * no arithmetic on floats of its own: it would trap in one of the modes. */
call_outcome in_every_mode(void (*call)(const void* input, call_outcome* o), const void* input);

#endif
