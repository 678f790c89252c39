/* A draft head that fits the tiny model and the catalogue `small`. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_CARRIED_HEAD_H
#define SIDBEAM_TESTS_CAPI_CARRIED_HEAD_H

#include <sidbeam/draft.h>

#include "tiny_model.h"

/* Of a GRU over both inputs; static storage. */
sidbeam_draft_weights carried_weights(void);
/* Writes a file and opens it. */
sidbeam_draft_head* open_weights(const sidbeam_draft_weights* weights);
/* The config with this head and its placeholders. */
void carry(sidbeam_runner_config* config, sidbeam_draft_head* head);

#endif
