// Names, ids and paths that others wrote, in lines for terminals and logs. The library and the command share it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sidbeam {

// Writes `text` so that it stays one line and says what it holds: as \xNN every byte of control characters (C0, DEL,
// C1), of line separators, of characters that turn the direction of writing, and of what is no UTF-8. A backslash stays
// as it is, so that escaping again changes nothing.
std::string escaped(std::string_view text);
// The same into `size` bytes, the NUL included; cut after a whole character where it does not fit.
void escape_into(std::string_view text, char* out, size_t size);

}  // namespace sidbeam
