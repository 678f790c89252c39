// A column per level, by their names.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_LEVEL_COLUMNS_H
#define SIDBEAM_IMPORT_LEVEL_COLUMNS_H

#include <string>
#include <string_view>
#include <vector>

namespace importer {

// Names that differ in a number alone, which counts from 0 or 1, and are otherwise in use for SIDs ("c0", "code_1",
// "level2").
struct LevelColumns {
  std::vector<int> places;  // in order of level; empty: none
  std::vector<std::string>
      missing;      // names that would count on at either end, or that leave a gap where there are none
  std::string gap;  // what has that gap: "'c0' and 'c2'"
};

// Throws where two such groups are there, or the columns stand as if the number of one were another's. `file` is where,
// quoted.
LevelColumns find_level_columns(const std::vector<std::string>& all, const std::string& option,
                                const std::string& file);

// A level whose column's name is damaged would be dropped without a word: throws where another column with what may be
// a code in its first cell has nearly the name of one that is missing.
void check_siblings(const LevelColumns& levels, const std::vector<std::string>& all,
                    const std::vector<std::string_view>& cells, const std::string& option, const std::string& file);

}  // namespace importer

#endif
