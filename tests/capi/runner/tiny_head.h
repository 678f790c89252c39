/* A draft head of made-up weights for the catalogue `small`: three levels of four codes, h of four elements.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_TINY_HEAD_H
#define SIDBEAM_TESTS_CAPI_TINY_HEAD_H

#include <sidbeam/draft.h>

#include "fixtures.h"

enum { HEAD_LEVELS = 3, HEAD_CODES = 4, HEAD_HIDDEN = 4 };

/* Of an RNN over both inputs, with biases and codebook "books"; static storage, which the next call does not change. */
sidbeam_draft_weights tiny_weights(void);
/* The path of a file with these weights. */
const char* write_head(const sidbeam_draft_weights* weights);
sidbeam_draft_head* make_tiny_head(void);

/* [requests, L + 1, D]; static storage. */
extern const float tiny_states[3 * (HEAD_LEVELS + 1) * HEAD_HIDDEN];
/* Of so many requests, up to three. */
sidbeam_rows tiny_hidden(int64_t requests);
/* Of one request and four beams, by trie. */
sidbeam_draft_config draft_config(sidbeam_draft_head* head, sidbeam_index* index);
sidbeam_draft_decoder* make_draft_decoder(sidbeam_runtime* runtime, const sidbeam_draft_config* config);
/* Runs tiny_hidden(requests). */
sidbeam_draft_result draft(sidbeam_draft_decoder* decoder, int64_t requests);

#endif
