// Filters over columns of attributes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/attributes/columns.h"
#include "index/rules/expression.h"
#include "index/rules/row_bits.h"

namespace sidbeam {

// The rows that pass. A row that is null fails every term but `is null`; `not` turns rows around, and so passes it.
//
// Integers take integers, and numbers that are whole. Numbers are rounded to 32 bits first, as those of the column
// were: price<=0.1 finds a stored 0.1, and a value that is too large becomes infinite. Bools take true and false with
// = and !=. Strings compare by bytes. Lists of strings take contains.
//
// Throws INVALID_ARGUMENT where the tree is not sound (check_expression()), and for a column, operator or value that
// does not fit. `threads`: as for run_tasks(). Reads nothing outside the arrays, whatever an unverified file has there.
RowBits rows_of(const Expression& expression, const Attributes& attributes, uint64_t items, const Allocator& allocator,
                int threads = 1);

}  // namespace sidbeam
