// What draws command lines.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>

#include "arguments.h"
#include "catalogues.h"

namespace fuzz {

inline void add(Arguments& arguments, std::initializer_list<std::string> more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
}

// As --format names what a file of each form is; auto for what is no catalogue.
const char* format_of(Form form);
// How a file's fields are codes, where it does not say so itself.
void add_reading(Arguments& arguments, Form form, Random& random);

}  // namespace fuzz
