// Option values that CLI11 does not parse for us. A wrong value is wrong usage.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_CLI_OPTIONS_H
#define SIDBEAM_CLI_OPTIONS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../import/numbers.h"

namespace cli {

using importer::parse_canonical;
using importer::parse_integer;

// "1,2,3"; an empty text is an empty list. `option` is named in the error.
std::vector<int64_t> parse_list(const std::string& option, const std::string& text);
// Like parse_list, with each value between least and most.
std::vector<int32_t> parse_list(const std::string& option, const std::string& text, int64_t least, int64_t most);
// Whether all of `text` is UTF-8.
bool is_utf8(std::string_view text);
std::vector<std::string> split(const std::string& text, char separator);
// "512", "64K", "2G": bytes, with binary suffixes.
int64_t parse_bytes(const std::string& option, const std::string& text);
// For Option::check: "" where a text is from 0 to 1e9 seconds, with or without a fraction.
std::string seconds_complaint(const std::string& text);
// Rounded up, since 0 often means something else.
int64_t to_milliseconds(double seconds);
// "trie,sorted" to SIDBEAM_KIND_* or'ed.
int32_t parse_kinds(const std::string& text);
std::vector<std::string> kind_names(int32_t kinds);
// --codes for `levels` levels (0: not known yet): one number serves every level.
std::vector<int32_t> parse_codes(const std::string& text, int32_t levels, bool variable_length);

}  // namespace cli

#endif
