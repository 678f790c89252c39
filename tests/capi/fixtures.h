/* What the tests build and rebuild: small catalogues, indexes, sessions, rows and files.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_FIXTURES_H
#define SIDBEAM_TESTS_CAPI_FIXTURES_H

#include <math.h>

#include "harness.h"

enum { ALL_KINDS = SIDBEAM_KIND_TRIE | SIDBEAM_KIND_SORTED | SIDBEAM_KIND_HASH };

typedef struct catalogue {
  int32_t levels, variable_length, id_type;
  const int32_t* codes;      /* [levels] */
  const int32_t* sids;       /* [count, levels] */
  const int32_t* lengths;    /* [count], or NULL */
  const int64_t* ids;        /* [count], or NULL */
  const int64_t* priorities; /* [count], or NULL */
  const char* const* names;  /* [count], with id_type STRING */
  int64_t count;
} catalogue;

/* Three levels of four codes; sorted, with item ids in the order of their item rows:
 *   0 (0,1,2) 15 10    1 (0,1,3) 11    2 (0,3,0) 12    3 (2,2,1) 13    4 (3,0,0) 14 */
extern const catalogue small;
/* The same SIDs with names "ten" .. "fifteen"; ordinal 0 has "fifteen", then "ten". */
extern const catalogue small_named;
/* Three levels of four codes, of different lengths; sorted, the end after every code:
 *   0 (0,1,2) 22    1 (0,1) 21    2 (0) 20    3 (2,2,1) 23    4 (3,0) 24 */
extern const catalogue small_variable;
/* Two levels of four and three codes: 0 (1,0) 30    1 (1,2) 31    2 (3,1) 32 */
extern const catalogue two_levels;

/* The logits row of most tests, log-probabilities: dyadic, so that sums are exact. */
extern const float halving[4]; /* -1 -2 -4 -8 */

sidbeam_runtime* make_runtime(void);
sidbeam_builder_config builder_config(const catalogue* from, int32_t kinds);
sidbeam_status add_all(sidbeam_builder* builder, const catalogue* from, sidbeam_error* error);
sidbeam_builder* make_builder(const catalogue* from, int32_t kinds);
sidbeam_index* make_index(const catalogue* from, int32_t kinds);
/* Of an index, which it holds. */
sidbeam_constraint* constrain(sidbeam_index* index);
sidbeam_constraint* make_constraint(const catalogue* from, int32_t kinds);
/* Of the trie of a catalogue whose SIDs that codebook made. */
sidbeam_index* index_of_codebook(const catalogue* from, const char* codebook);
sidbeam_constraint* constraint_of_codebook(const catalogue* from, const char* codebook);
/* On the CPU. */
sidbeam_constraint_set* make_set(sidbeam_constraint* const* constraints, int64_t count,
                                 const sidbeam_vocabulary* vocabulary);
/* One slot, M = 4, normalisation NONE. */
sidbeam_session_config session_config(sidbeam_constraint* constraint);
sidbeam_session* make_session(const sidbeam_session_config* config);

sidbeam_rows make_rows(const float* data, int64_t slots, int64_t rows, int64_t columns);
/* The same logits row of `columns` elements for every beam of every slot. */
sidbeam_rows same_row(const float* row, int64_t slots, int64_t rows, int64_t columns);
void start_all(sidbeam_session* session);
void start_slot(sidbeam_session* session, int32_t slot);
/* Every slot of the session, with one logits row of four elements for all beams. */
void step_all(sidbeam_session* session, const float* row);
sidbeam_beams beams_of(const sidbeam_session* session);
/* All that a session of two slots and four beams shows; floats by their bits. */
typedef struct session_view {
  int32_t parents[8], codes[8], live[2], active[2], level[2], errors[2];
  uint32_t scores[8], log_masses[8];
  sidbeam_state states[8];
} session_view;
session_view view_of(const sidbeam_session* session);
int64_t counter_of(const sidbeam_session* session, const char* name);

/* A path in a folder of this process, which is removed with its contents when the process ends. Static storage, for the
 * last eight paths. */
const char* temporary_path(const char* name);
int file_exists(const char* path);
/* The number of files beside `path`, itself included: it shows litter. */
int files_in_folder(const char* path);
void write_text(const char* path, const char* text);
/* The whole file in a block of exactly that many bytes at a multiple of 64; the caller frees it. */
unsigned char* read_file(const char* path, int64_t* bytes);
/* The bytes that the builder writes for a catalogue. */
unsigned char* index_bytes(const catalogue* from, int32_t kinds, int64_t* bytes);
/* The struct at the front of a longer one, as a newer header would lay it out, its tail filled with `tail`; static
 * storage. */
void* grown(const void* original, size_t bytes, int tail);

#endif
