// Names, ids and paths that others wrote, in lines for terminals and logs. The library, the importers and the command
// share it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sidbeam {

// Makes `text` a single, truthful line: every byte of control characters (C0, DEL, C1), line separators, characters
// that change the writing direction, and invalid UTF-8 becomes \xNN. A backslash is kept, so escaping twice changes
// nothing.
std::string escaped(std::string_view text);
// The same into `size` bytes, the NUL included; cut after a whole character where it does not fit.
void escape_into(std::string_view text, char* out, size_t size);

}  // namespace sidbeam
