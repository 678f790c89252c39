// Names of fields, columns and arrays that people use.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_FIELDS_H
#define SIDBEAM_IMPORT_FIELDS_H

#include <string>
#include <string_view>
#include <vector>

namespace importer {

using Names = std::vector<std::string_view>;
extern const Names kItemNames, kSidNames, kPriorityNames;

// Of ASCII letters.
std::string lower_case(std::string_view text);

// Whether it is one of them, in any case of ASCII letters.
bool is_among(const Names& names, std::string_view name);

// Whether two names are the same, in any case of ASCII letters, but for one letter more, less or other, or for two that
// have changed places: one may be what a slip of the hand has made of the other.
bool are_near(std::string_view one, std::string_view other);

// The place of the name that is asked for, or, for "", of the only one that is known; -1: none is known. Throws a
// Failure where it is not there, comes twice, or two are known. `file` is where, quoted; `what` a field, a column or an
// array.
int find_field(const std::vector<std::string>& all, const std::string& asked, const Names& known,
               const std::string& option, const std::string& file, const char* what);

}  // namespace importer

#endif
