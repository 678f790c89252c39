// Filters as text, for commands, services and logs.
//
//   price<20 and region in (us, ca) and not brand="x"
//
//   filter  = all { "or" all }
//   all     = single { "and" single }
//   single  = "not" single | "(" filter ")" | "true" | "false" | term
//   term    = column                                      a column of bools that is true
//           | column ( "=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=" ) value
//           | column [ "not" ] "in" list
//           | column [ "not" ] "between" value "and" value      both bounds count
//           | column [ "not" ] "contains" ( value | list )      a list of strings that has one of the values
//           | column "is" [ "not" ] "null"
//   list    = "(" [ value { "," value } ] ")"
//   column  = word | quoted                               a keyword needs quotes
//   value   = integer | number | "true" | "false" | word | quoted
//   word    = a letter, "_" or a character that is not ASCII, then also digits, "-" and "."
//   quoted  = text in "double" or 'single' quotes; \\ \" \' \n \t \r, a byte \xNN, a UTF-16 unit \uNNNN
//   integer = [ "-" ] digits, of 64 bits              number = a decimal fraction or with an exponent, finite
//
// Keywords (and or not in between contains is null true false) may be in any case; as a value all but null, true and
// false are words. `true` alone passes all rows, `false` none. A text has at most 1 MiB, 1,024 terms, and at one place
// 200 open parentheses and `not`s.
//
// A row that is null fails every term but `is null`. `not` turns rows around: those that are null pass `not price<20`,
// and `price not between 1 and 2`, which is short for `not price between 1 and 2`; they fail `price!=2`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "index/rules/expression.h"

namespace sidbeam {

inline constexpr size_t kMostFilterBytes = size_t{1} << 20;

// Throws INVALID_ARGUMENT that names the place of a mistake: "filter: at byte 17 (`...`): expected ..., found ...".
Expression parse_expression(std::string_view text);

}  // namespace sidbeam
