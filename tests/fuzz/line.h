// What the library and the command may write to terminals and logs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace fuzz {

// Whether this is one line, not empty, of UTF-8 that is safe on a terminal.
bool is_line(const std::string& text);

}  // namespace fuzz
