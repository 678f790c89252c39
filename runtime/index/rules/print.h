// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "index/rules/expression.h"

namespace sidbeam {

// A filter's text (parse.h), on one line that is safe on a terminal. parse_expression() makes the same tree of it, but
// for an `and` or `or` of one, which becomes its operand. Throws INVALID_ARGUMENT where the tree is not sound
// (check_expression()), and where no text has it: an infinite number, more parentheses or bytes than a text may have.
std::string print_expression(const Expression& expression);

}  // namespace sidbeam
