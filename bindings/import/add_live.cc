// Rows into a live catalogue, in batches.
// SPDX-License-Identifier: Apache-2.0
#include <sidbeam/catalog.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>

#include "call.h"
#include "catalogue.h"

namespace importer {
namespace {

using Version = std::unique_ptr<sidbeam_index, void (*)(sidbeam_index*)>;

Version newest_of(sidbeam_catalog* catalog) {
  sidbeam_index* index = nullptr;
  call(sidbeam_catalog_snapshot, catalog, int64_t{0}, &index);
  return {index, sidbeam_index_release};
}

std::string ids_of(int32_t type) {
  return type == SIDBEAM_ID_STRING ? "strings" : type == SIDBEAM_ID_U64 ? "unsigned integers" : "integers";
}

// What the catalogue cannot say of a file, or only in terms of numbers.
void check(const Survey& survey, IdForm form, const sidbeam_index_info& info, const Options& options) {
  const std::string place = "'" + options.input + "': ", of_catalogue = ", as the catalogue has";
  const bool unsigned_base = info.id_type == SIDBEAM_ID_U64;
  if (form == IdForm::kNone)
    throw Failure(place + "no ids (" + options.named("ids") + "), and items of a live catalogue have some");
  if (survey.id_type != info.id_type && !(unsigned_base && survey.id_type == SIDBEAM_ID_I64))
    throw Failure(place + "ids are " + ids_of(survey.id_type) + ", expected " + ids_of(info.id_type) + of_catalogue);
  if (survey.shape.levels != info.levels)
    throw Failure(place + "SIDs of " + std::to_string(survey.shape.levels) + " codes, expected " +
                  std::to_string(info.levels) + of_catalogue);
  if (survey.shape.variable_length && info.variable_length == 0)
    throw Failure(place + "SIDs of different lengths, expected " + std::to_string(info.levels) + " codes" +
                  of_catalogue);
}

// The texts of a JSON list; none where it is no such list.
std::vector<std::string> texts_of(const char* list) {
  simdjson::dom::parser parser;
  simdjson::dom::array values;
  std::vector<std::string> texts;
  if (parser.parse(list, std::strlen(list)).get(values)) return texts;
  for (const simdjson::dom::element each : values) {
    std::string_view text;
    if (each.get(text)) return {};
    texts.emplace_back(text);
  }
  return texts;
}

// Codes of other families are other SIDs. Those of the base are in its metadata, where it was built of tokens.
void check_families(const std::vector<std::string>& families, const sidbeam_index* index, int64_t entries,
                    const Options& options) {
  for (int64_t i = 0; i < entries; ++i) {
    const char *key = nullptr, *value = nullptr;
    call(sidbeam_index_get_metadata, index, i, &key, &value);
    if (std::string(key) != kFamiliesKey) continue;
    const std::vector<std::string> expected = texts_of(value);
    if (!expected.empty() && families != expected) {
      throw Failure("'" + options.input + "': families " + json_list(families) + ", expected " + json_list(expected) +
                    ", as the catalogue has (" + options.named("token_pattern") + " says what the file has)");
    }
  }
}

void check_attributes(const std::vector<AttributeSpec>& given, const sidbeam_index* index, const Options& options) {
  for (const AttributeSpec& spec : given) {
    const std::string place = options.named("attributes") + ": '" + spec.name + "' ";
    int64_t number = -1;
    call(sidbeam_index_find_attribute, index, spec.name.c_str(), &number);
    if (number < 0) throw UsageError(place + "is no attribute of the catalogue");
    sidbeam_attribute_info info = SIDBEAM_ATTRIBUTE_INFO_INIT;
    call(sidbeam_index_get_attribute, index, number, &info);
    if (info.type != spec.type)
      throw UsageError(place + "is of the type " + attribute_type_name(spec.type) + ", expected " +
                       attribute_type_name(info.type) + ", as the catalogue has");
  }
}

}  // namespace

void Catalogue::add_to(sidbeam_catalog* catalog) const {
  const Version version = newest_of(catalog);
  sidbeam_index_info info = SIDBEAM_INDEX_INFO_INIT;
  call(sidbeam_index_get_info, version.get(), &info);
  check(survey_, open_source(files_, survey_.shape)->id_form(), info, options_);
  check_attributes(survey_.shape.attributes, version.get(), options_);
  if (has_tokens()) check_families(families_, version.get(), info.metadata_count, options_);
  each([&](const sidbeam_pairs& given) {
    sidbeam_pairs pairs = given;
    if (!survey_.priorities) pairs.priorities = nullptr;  // pairs that are live keep theirs
    const auto negative = [](int64_t id) { return id < 0; };
    if (info.id_type == SIDBEAM_ID_U64 && survey_.id_type == SIDBEAM_ID_I64 &&
        std::any_of(pairs.ids, pairs.ids + pairs.count, negative))
      throw Failure("'" + options_.input + "': a negative id, expected unsigned integers, as the catalogue has");
    call(sidbeam_catalog_add, catalog, &pairs);
  });
}

}  // namespace importer
