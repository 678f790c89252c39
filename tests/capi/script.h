/* One use of everything that takes memory, from a runtime to items, which reports the first failure and leaves nothing
 * behind. For the tests of allocation failure and of threads. SPDX-License-Identifier: Apache-2.0 */
#ifndef SIDBEAM_TESTS_CAPI_SCRIPT_H
#define SIDBEAM_TESTS_CAPI_SCRIPT_H

#include "fixtures.h"

/* A status other than OK is that of the call that failed; err (own, may be NULL) has its message. A search that ends
 * with wrong beams is SIDBEAM_INTERNAL. allocator NULL: the library's own. `path` is overwritten. */
sidbeam_status run_script(const sidbeam_allocator* allocator, int32_t threads, const char* path, sidbeam_error* error);

#endif
