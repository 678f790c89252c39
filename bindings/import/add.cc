// Rows into a builder, in batches.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "call.h"
#include "catalogue.h"
#include "failure.h"
#include "numbers.h"

namespace importer {
namespace {

// Rows as the core takes them: one stride, ids of one type.
class Feeder {
 public:
  Feeder(const Survey& survey, IdForm ids)
      : stride_(static_cast<size_t>(survey.shape.levels)),
        variable_(survey.shape.variable_length),
        id_type_(survey.id_type),
        unsigned_(ids == IdForm::kUnsigned),
        attributes_(survey.shape.attributes) {}

  // Valid until the next call, as long as the batch is as it is left.
  const sidbeam_pairs& pairs_of(Batch& batch) {
    pairs_ = SIDBEAM_PAIRS_INIT;
    pairs_.codes = batch.codes.size() == batch.size() * stride_ ? batch.codes.data() : pad(batch);
    pairs_.lengths = variable_ ? batch.lengths.data() : nullptr;
    pairs_.count = static_cast<int64_t>(batch.size());
    pairs_.priorities = batch.priorities.empty() ? nullptr : batch.priorities.data();
    if (id_type_ == SIDBEAM_ID_STRING) {
      if (batch.name_ends.empty()) print_ids(batch);
      batch.name_ends.insert(batch.name_ends.begin(), 0);
      pairs_.id_bytes = batch.names.data();
      pairs_.id_offsets = batch.name_ends.data();
    } else {
      if (!batch.name_ends.empty()) parse_names(batch);
      pairs_.ids = batch.ids.empty() ? nullptr : batch.ids.data();
    }
    columns_.clear();
    for (size_t i = 0; i < attributes_.size(); ++i) columns_.push_back(column_of(attributes_[i], batch.attributes[i]));
    pointers_.clear();
    for (const sidbeam_attribute_column& column : columns_) pointers_.push_back(&column);
    pairs_.attributes = pointers_.data();
    pairs_.attribute_count = static_cast<int64_t>(pointers_.size());
    return pairs_;
  }

 private:
  static sidbeam_attribute_column column_of(const AttributeSpec& spec, AttributeValues& values) {
    sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
    values.text_ends.insert(values.text_ends.begin(), 0);
    values.list_ends.insert(values.list_ends.begin(), 0);
    column.name = spec.name.c_str();
    column.valid = values.valid.data();
    column.integers = values.integers.data();
    column.numbers = values.numbers.data();
    column.bools = values.bools.data();
    column.text = values.text.data();
    column.offsets = values.text_ends.data();
    if (spec.type == SIDBEAM_ATTRIBUTE_STRING_LIST) column.lists = values.list_ends.data();
    return column;
  }

  const int32_t* pad(const Batch& batch) {
    padded_.assign(batch.size() * stride_, 0);
    const int32_t* from = batch.codes.data();
    for (size_t row = 0; row < batch.size(); ++row) {
      std::copy_n(from, batch.lengths[row], padded_.begin() + static_cast<std::ptrdiff_t>(row * stride_));
      from += batch.lengths[row];
    }
    return padded_.data();
  }

  // Integers as text, for a builder of text; without ids the row's number.
  void print_ids(Batch& batch) {
    for (size_t row = 0; row < batch.size(); ++row, ++row_) {
      const int64_t id = batch.ids.empty() ? row_ : batch.ids[row];
      batch.add_name(unsigned_ ? std::to_string(static_cast<uint64_t>(id)) : std::to_string(id));
    }
  }

  void parse_names(Batch& batch) const {
    for (size_t row = 0; row < batch.size(); ++row) {
      const std::string_view name = batch.name(row);
      const auto id = parse_integer<int64_t>(name);
      const auto unsigned_id = id_type_ == SIDBEAM_ID_U64 ? parse_integer<uint64_t>(name) : std::nullopt;
      if (!id && !unsigned_id) throw Failure("id '" + std::string(name) + "': the file changed while it was read");
      batch.ids.push_back(unsigned_id ? static_cast<int64_t>(*unsigned_id) : *id);
    }
  }

  size_t stride_;
  bool variable_;
  int32_t id_type_;
  bool unsigned_;
  const std::vector<AttributeSpec>& attributes_;
  int64_t row_ = 0;
  std::vector<int32_t> padded_;
  std::vector<sidbeam_attribute_column> columns_;
  std::vector<const sidbeam_attribute_column*> pointers_;
  sidbeam_pairs pairs_ = SIDBEAM_PAIRS_INIT;
};

void add_pairs(sidbeam_builder* builder, const sidbeam_pairs& pairs) {
  // Where no record has a priority the core need not keep one for each.
  const bool ranked = pairs.priorities != nullptr &&
                      std::any_of(pairs.priorities, pairs.priorities + pairs.count, [](int64_t p) { return p != 0; });
  const int64_t* priorities = ranked ? pairs.priorities : nullptr;
  if (pairs.id_offsets != nullptr) {
    call(sidbeam_builder_add_named, builder, pairs.codes, pairs.lengths, pairs.count, pairs.id_bytes, pairs.id_offsets,
         priorities);
  } else {
    call(sidbeam_builder_add, builder, pairs.codes, pairs.lengths, pairs.count, pairs.ids, priorities);
  }
  for (int64_t i = 0; i < pairs.attribute_count; ++i)
    call(sidbeam_builder_set_attribute, builder, pairs.attributes[i], pairs.count);
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void set_metadata(sidbeam_builder* builder, const Shape& shape, const std::vector<std::string>& families) {
  const auto set = [&](const char* key, const std::string& value) {
    call(sidbeam_builder_set_metadata, builder, key, value.c_str());
  };
  if (!families.empty()) set(kFamiliesKey, json_list(families));
  if (!shape.begin.empty()) set("sidbeam.begin_tokens", json_list(shape.begin));
  if (!shape.end.empty()) set("sidbeam.end_tokens", json_list(shape.end));
  if (shape.token_base) set("sidbeam.token_base", std::to_string(*shape.token_base));
}

}  // namespace

void Catalogue::each(const std::function<void(const sidbeam_pairs&)>& take) const {
  const auto source = open_source(files_, survey_.shape);
  Feeder feeder(survey_, source->id_form());
  int64_t rows = 0;
  for (Batch batch; source->next(batch);) {
    rows += static_cast<int64_t>(batch.size());
    take(feeder.pairs_of(batch));
    options_.progress(SIDBEAM_PHASE_READ, source->done(), source->total());
  }
  if (rows != survey_.rows) {
    throw Failure("'" + options_.input + "': " + std::to_string(rows) + " rows, expected " +
                  std::to_string(survey_.rows) + ": the file changed while it was read");
  }
}

Catalogue::Catalogue(Options options)
    : options_(std::move(options)), files_(options_), survey_(survey_catalogue(options_, files_)) {
  for (const Family& family : survey_.shape.families) families_.push_back(family.text());
}

void Catalogue::add_to(sidbeam_builder* builder) const {
  for (const AttributeSpec& spec : survey_.shape.attributes)
    call(sidbeam_builder_declare_attribute, builder, spec.name.c_str(), spec.type);
  each([builder](const sidbeam_pairs& pairs) { add_pairs(builder, pairs); });
  set_metadata(builder, survey_.shape, has_tokens() ? families_ : std::vector<std::string>());
}

bool Catalogue::has_tokens() const {
  const std::vector<Family>& families = survey_.shape.families;
  return std::any_of(families.begin(), families.end(), [](const Family& f) { return !f.plain(); });
}

std::string Catalogue::summary() const {
  const Shape& shape = survey_.shape;
  const auto counted = [](size_t count, const char* what) { return std::string(what) + (count == 1 ? " " : "s "); };
  std::string text = std::to_string(shape.levels) + (shape.levels == 1 ? " level, " : " levels, ");
  if (has_tokens()) text += (families_.size() == 1 ? "family " : "families ") + joined(families_) + ", ";
  text += with_commas(survey_.rows) + (survey_.rows == 1 ? " item" : " items");
  if (!shape.begin.empty()) text += ", " + counted(shape.begin.size(), "begin token") + joined(shape.begin);
  if (!shape.end.empty()) text += ", " + counted(shape.end.size(), "end token") + joined(shape.end);
  if (shape.token_base) text += ", token ids from " + std::to_string(*shape.token_base);
  return text;
}

}  // namespace importer
