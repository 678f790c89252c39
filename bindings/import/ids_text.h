// Ids in text: what is no id though it stands where one should.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_IDS_TEXT_H
#define SIDBEAM_IMPORT_IDS_TEXT_H

#include <support/escape.h>

#include <string>
#include <string_view>
#include <vector>

#include "sids.h"
#include "support/utf8.h"

namespace importer {

constexpr size_t kLongestMissing = 9;
// Whether a text is what programs write for a value that is not there, such as nan, NULL and <NA>, in letters of either
// case, with or without spaces around; or nothing but spaces.
bool is_missing(std::string_view text);

// The ids of a file. One that is written like a missing value may be an id all the same, where ids are text: "none" and
// "NA" are words. It is not where all others are numbers, and where it comes twice items would be taken for one.
class IdTexts {
 public:
  // Whether nothing needs to be checked; `ascii`: it is known to be that.
  static bool plain(std::string_view id, bool ascii = false) {
    return !id.empty() && !(may_be_missing(id) && is_missing(id)) && (ascii || sidbeam::is_utf8(id));
  }
  // An id that is not plain, of one record; `field` is where in the record it is, "" where it is all of it.
  void check(std::string_view id, const Where& where, const std::string& field);
  // After the last record: throws where an id is missing, as all that are not written like that are numbers.
  void check_numbers() const;

 private:
  // Quick, for ids that are not.
  static bool may_be_missing(std::string_view id) {
    if (id.front() <= ' ' || id.back() <= ' ') return true;
    return id.size() <= kLongestMissing && std::string_view("nNuU<#-\\").find(id.front()) != std::string_view::npos;
  }

  struct Missing {
    std::string id, place, row;
  };
  std::vector<Missing> missing_;
};

}  // namespace importer

#endif
