// A catalogue file from end to end: what is in it, and its rows into a builder.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_CATALOGUE_H
#define SIDBEAM_IMPORT_CATALOGUE_H

#include <sidbeam/catalog.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "source.h"

namespace importer {

// What one pass over a file finds.
struct Survey {
  Shape shape;
  int32_t id_type = SIDBEAM_ID_I64;
  int64_t rows = 0;
  bool priorities = false;  // some records have one
};

inline constexpr const char* kFamiliesKey = "sidbeam.families";  // of an index's metadata

// An open file that has been surveyed. Not to be moved: its parts refer to each other.
class Catalogue {
 public:
  explicit Catalogue(Options options);
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  void add_to(sidbeam_builder* builder) const;
  // Publishes nothing. If it throws, some of the rows may have been added.
  void add_to(sidbeam_catalog* catalog) const;
  void set_progress(decltype(Options::progress) progress) { options_.progress = std::move(progress); }

  const std::string& format() const { return files_.format; }
  const Survey& survey() const { return survey_; }
  bool codes_from_data() const { return options_.shape.codes.empty(); }
  // "<a_*>" of each level
  const std::vector<std::string>& families() const { return families_; }
  std::string summary() const;

 private:
  // All rows, some at a time, with the attributes.
  void each(const std::function<void(const sidbeam_pairs&)>& take) const;
  // Rather than plain numbers.
  bool has_tokens() const;

  Options options_;
  CatalogueFiles files_;
  Survey survey_;
  std::vector<std::string> families_;
};

// In survey.cc. Throws a Failure where the file is no catalogue.
Survey survey_catalogue(const Options& options, const CatalogueFiles& files);

}  // namespace importer

#endif
