// SPDX-License-Identifier: Apache-2.0
#include "vocabulary.h"

#include <simdjson.h>

#include "files.h"
#include "search_input.h"

namespace cli {
namespace {

namespace dom = simdjson::dom;

std::vector<int32_t> tokens_of(const std::string& path, size_t level, dom::element value) {
  const std::string place = "'" + path + "': level " + std::to_string(level);
  dom::array given;
  if (value.get(given)) throw Failure(place + ": expected an array of tokens, one per code, -1 for none");
  std::vector<int32_t> tokens;
  for (const dom::element each : given) {
    int64_t token = 0;
    if (each.get(token) || token < -1 || token > INT32_MAX) {
      throw Failure(place + ": code " + std::to_string(tokens.size()) + " is " + simdjson::minify(each) +
                    ", expected a token, or -1 for none");
    }
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

// The runner checks this too, but histories become tokens first.
void check_offsets(const std::vector<int64_t>& offsets, const sidbeam_index_info& info) {
  for (size_t level = 0; level < offsets.size(); ++level) {
    if (offsets[level] < 0 || offsets[level] > INT32_MAX - int64_t{info.codes[level]})
      throw Failure("--offsets: level " + std::to_string(level) + " begins at token " + std::to_string(offsets[level]) +
                    " and has " + std::to_string(info.codes[level]) + " codes, expected tokens from 0 to " +
                    std::to_string(INT32_MAX - 1));
  }
}

}  // namespace

void add_vocabulary_options(Command command, VocabularyOptions& o) {
  const Option offsets =
      command.add_option("--offsets", o.offsets, "o0,o1,..: code t of level l is token o_l + t; default: 0")
          .type_name("LIST");
  command
      .add_option("--map", o.map, "instead: JSON [[...], ...], the tokens of each level's codes, -1 for a code without")
      .type_name("FILE")
      .excludes(offsets);
  command.add_option("--end-column", o.end_column, "token that ends a SID, where lengths vary")
      .check([](const std::string& text) { return std::string(text[0] == '-' ? "expected 0 or more" : ""); });
}

Vocabulary::Vocabulary(const VocabularyOptions& o, const std::string& index_path, const sidbeam_index_info& info)
    : offsets_(parse_offsets(o.offsets, info)) {
  check_offsets(offsets_, info);
  if (info.variable_length != 0 && o.end_column < 0) {
    throw Failure("--end-column: expected, since the SIDs of '" + index_path + "' have different lengths");
  }
  if (!o.map.empty()) read_map(o.map, info);
  view_.levels = info.levels;
  view_.offsets = offsets_.data();
  view_.end_column = o.end_column;
  if (maps_.empty()) return;
  view_.maps = pointers_.data();
  view_.map_codes = map_codes_.data();
}

int64_t Vocabulary::token(size_t level, int32_t code) const {
  if (maps_.empty()) return offsets_[level] + code;
  return maps_[level][static_cast<size_t>(code)];
}

void Vocabulary::read_map(const std::string& path, const sidbeam_index_info& info) {
  const InputFile file(path);
  dom::parser parser;
  dom::array levels;
  const simdjson::padded_string text(file.head(file.size()));
  const auto error = parser.parse(text).get(levels);
  if (error && error != simdjson::INCORRECT_TYPE)
    throw Failure("'" + path + "': not JSON: " + std::string(simdjson::error_message(error)));
  if (error || levels.size() != static_cast<size_t>(info.levels)) {
    throw Failure("'" + path + "': expected an array of " + std::to_string(info.levels) + " arrays, one per level");
  }
  for (const dom::element each : levels) {
    const auto level = maps_.size();
    maps_.push_back(tokens_of(path, level, each));
    if (maps_.back().size() != static_cast<size_t>(info.codes[level])) {
      throw Failure("'" + path + "': level " + std::to_string(level) + " has " + std::to_string(maps_.back().size()) +
                    " tokens, expected " + std::to_string(info.codes[level]) + ", one per code");
    }
    map_codes_.push_back(info.codes[level]);
  }
  for (const auto& map : maps_) pointers_.push_back(map.data());
}

}  // namespace cli
