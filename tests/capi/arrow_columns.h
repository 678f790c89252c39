/* Columns of Arrow for tests, as one would write them down. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_ARROW_COLUMNS_H
#define SIDBEAM_TESTS_CAPI_ARROW_COLUMNS_H

#include "arrow_rig.h"
#include "fixtures.h"

/* An array as (values, bytes), for the functions below. */
#define OF(type, ...) (const type[]){__VA_ARGS__}, (int64_t)sizeof((const type[]){__VA_ARGS__})

arrow_column numbers(const char* name, const char* format, int64_t length, const void* values, int64_t bytes);
/* Lists by offsets; a format "+w:N" has none. */
arrow_column lists(const char* name, const char* format, int64_t length, const void* offsets, int64_t bytes,
                   const arrow_column* values);
arrow_column texts(const char* name, const char* format, int64_t length, const void* offsets, int64_t bytes,
                   const char* characters);
/* Indices into a dictionary. */
arrow_column indices(const char* name, const char* format, int64_t length, const void* values, int64_t bytes,
                     const arrow_column* dictionary);
/* The column with a validity bitmap of up to eight elements; null_count -1. */
arrow_column with_nulls(arrow_column column, const unsigned char* bitmap);
/* A record batch of up to four columns; the last ones may be NULL. */
arrow_column batch(int64_t length, const arrow_column* a, const arrow_column* b, const arrow_column* c,
                   const arrow_column* d);

/* A stream of `count` batches. */
arrow_source source_of(const arrow_column* const* batches, int64_t count);
/* Adds the stream and checks that it and all that it handed out were released, once. */
sidbeam_status add_stream(sidbeam_builder* builder, arrow_source* source, const sidbeam_arrow_config* config,
                          int64_t* pairs, sidbeam_error* error);
/* The same of one batch and no config. */
sidbeam_status add_batch(sidbeam_builder* builder, const arrow_column* batch, sidbeam_error* error);

sidbeam_builder* empty_builder(const catalogue* like);
/* The builder makes the very bytes of the catalogue; it is destroyed. */
void expect_catalogue(sidbeam_builder* builder, const catalogue* expected);

#endif
