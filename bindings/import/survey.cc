// One pass over a file, before there is a builder.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "catalogue.h"
#include "failure.h"
#include "numbers.h"

namespace importer {
namespace {

// Ids that are all integers, as programs print them, are kept as integers.
struct IdSurvey {
  bool all_signed = true, all_unsigned = true;
  bool all_numbers = true;  // in whatever form

  void look(const Batch& batch) {
    if (batch.digit_names == batch.size()) return;
    for (size_t row = 0; row < batch.size() && all_numbers; ++row) {
      const std::string_view name = batch.name(row);
      int64_t number;
      if (parse_digits(name, &number) && (name[0] != '0' || name.size() == 1)) continue;
      if (all_signed && !parse_canonical<int64_t>(name)) all_signed = false;
      if (all_unsigned && !parse_canonical<uint64_t>(name)) all_unsigned = false;
      if (!looks_like_number(name) && !is_missing(name)) all_numbers = false;
    }
  }

  int32_t type(IdForm form, const Options& options) const {
    if (options.text_ids) return SIDBEAM_ID_STRING;
    if (form == IdForm::kUnsigned) return SIDBEAM_ID_U64;
    if (form != IdForm::kText || all_signed) return SIDBEAM_ID_I64;
    return all_unsigned ? SIDBEAM_ID_U64 : SIDBEAM_ID_STRING;
  }
};

// What the options say.
Shape given_shape(const Options& options) {
  Shape shape = options.shape;
  if (shape.levels == 0 && shape.codes.size() > 1) shape.levels = static_cast<int32_t>(shape.codes.size());
  shape.attributes = parse_attributes(options);
  return shape;
}

// What the file's own header says besides.
void add_levels(const Options& options, int32_t levels, Shape& shape) {
  if (shape.levels > 0 && shape.levels != levels && !shape.variable_length) {
    throw Failure("'" + options.input + "': SIDs of " + std::to_string(levels) + " codes, expected " +
                  std::to_string(shape.levels) + " (" + options.named(options.shape.levels > 0 ? "levels" : "codes") +
                  ")");
  }
  if (shape.levels == 0) shape.levels = levels;
  // Rows that are padded may be wider than that, but a row is read as a whole.
  if (levels > SIDBEAM_MAX_LEVELS) {
    throw Failure("'" + options.input + "': SIDs of " + std::to_string(levels) + " codes, expected at most " +
                  std::to_string(int{SIDBEAM_MAX_LEVELS}));
  }
  if (shape.codes.size() == 1) shape.codes.resize(static_cast<size_t>(shape.levels), shape.codes[0]);
}

// Of numbers whose codes are known the header says all there is to say.
bool needs_pass(const Source& source, const Shape& shape) {
  return source.id_form() == IdForm::kText || shape.codes.empty() || shape.levels == 0 || source.levels() == 0;
}

}  // namespace

Survey survey_catalogue(const Options& options, const CatalogueFiles& files) {
  Shape given = given_shape(options);
  auto source = open_source(files, given);
  if (const int32_t levels = source->levels(); levels > 0) {
    add_levels(options, levels, given);
    source = open_source(files, given);
  }
  source->check_sums();
  Survey survey{given, SIDBEAM_ID_I64, source->total(), source->gives_priorities()};
  if (!needs_pass(*source, given)) {
    survey.id_type = IdSurvey().type(source->id_form(), options);
    survey.shape.families.assign(static_cast<size_t>(given.levels), Family{});
    survey.shape.framed = true;
    return survey;
  }
  IdSurvey ids;
  survey.rows = 0;
  for (Batch batch; source->next(batch);) {
    if (source->id_form() == IdForm::kText) ids.look(batch);
    survey.rows += static_cast<int64_t>(batch.size());
    options.progress(SIDBEAM_PHASE_SURVEY, source->done(), source->total());
  }
  if (survey.rows == 0) throw Failure("'" + options.input + "': no SID in it, expected at least one");
  source->check_asked();
  if (ids.all_numbers && !options.text_ids) source->check_numbers();
  if (given.codes.empty() && source->sids().look_like_token_ids()) {
    throw Failure("'" + options.input + "': numbers of a range per level, as token ids are: expected " +
                  options.named("token_base") + " (the first id of level 0) and " + options.named("codes") +
                  ", or, if they are codes, " + options.named("codes") + " alone");
  }
  source->sids().finish(survey.shape);
  survey.shape.attributes = source->attributes().finish(options, files.format == "csv" ? "column" : "field");
  survey.id_type = ids.type(source->id_form(), options);
  survey.priorities = source->gives_priorities();
  return survey;
}

}  // namespace importer
