#!/usr/bin/env bash
# The program in the first comment of sidbeam.h is samples/minimal.c, line by line.
#   header_comment.sh ROOT
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
comment=$(sed -n '/^ \*   #include <sidbeam/,/^ \*   }$/ s/^ \* \{0,3\}//p' "$1/include/sidbeam/sidbeam.h")
[ -n "$comment" ]
diff <(echo "$comment") <(sed -n '/^#include <sidbeam/,$ p' "$1/samples/minimal.c")
