/* SPDX-License-Identifier: Apache-2.0 */
#include "float_modes.h"

#include <fenv.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
unsigned get_float_csr(void) { return _mm_getcsr(); }
void set_float_csr(unsigned csr) { _mm_setcsr(csr); }
static unsigned get_x87(void) {
  uint16_t word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}
#else
unsigned get_float_csr(void) { return 0; }
void set_float_csr(unsigned csr) { (void)csr; }
static unsigned get_x87(void) { return 0; }
#endif

const float_mode float_modes[FLOAT_MODES] = {
    {"default", 0, 0, FE_TONEAREST},
    {"denormals flushed", 0x8040, 0, FE_TONEAREST},
    {"inputs flushed", 0x0040, 0, FE_TONEAREST},
    {"down", 0, 0, FE_DOWNWARD},
    {"up", 0, 0, FE_UPWARD},
    {"to zero", 0, 0, FE_TOWARDZERO},
    {"flushed, up", 0x8040, 0, FE_UPWARD},
    {"every exception trapped", 0, 0x1f80, FE_TONEAREST},
};

void enter_float_mode(const float_mode* mode) {
  CHECK_INT(fesetround(mode->rounding), 0);
  set_float_csr((get_float_csr() | mode->set) & ~mode->clear & ~0x3fu);
}

void keep_status(call_outcome* o, sidbeam_status status) {
  o->status = status;
  memcpy(o->message, err.message, sizeof o->message);
}

void keep_words(call_outcome* o, const void* data, size_t bytes) {
  CHECK(o->count * 4 + bytes <= sizeof o->words);
  memcpy(o->words + o->count, data, bytes);
  o->count += bytes / 4;
}

/* No arithmetic in between: it might trap. */
call_outcome in_every_mode(void (*call)(const void* input, call_outcome* o), const void* input) {
  static call_outcome expected, came;
  for (int i = 0; i < FLOAT_MODES; ++i) {
    call_outcome* o = i == 0 ? &expected : &came;
    memset(o, 0, sizeof *o);
    clear_error();
    enter_float_mode(&float_modes[i]);
    const unsigned csr = get_float_csr(), x87 = get_x87();
    call(input, o);
    const int same = get_float_csr() == csr && get_x87() == x87 && fegetround() == float_modes[i].rounding;
    CHECK_INT(fesetenv(FE_DFL_ENV), 0);
    if (!same || memcmp(o, &expected, sizeof *o) != 0)
      printf("mode: %s; '%s', expected '%s'\n", float_modes[i].name, o->message, expected.message);
    CHECK(same);
    CHECK(memcmp(o, &expected, sizeof *o) == 0);
  }
  return expected;
}
