/* A library that takes as long to load as the test wants. SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <unistd.h>

/* Says on one descriptor that it is being loaded, and waits for a byte from another. */
__attribute__((constructor)) static void wait_for_the_test(void) {
  char byte = 0;
  if (write(atoi(getenv("SLOW_BEGUN")), &byte, 1) != 1 || read(atoi(getenv("SLOW_GO_ON")), &byte, 1) != 1) abort();
}
