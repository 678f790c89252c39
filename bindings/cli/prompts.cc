// SPDX-License-Identifier: Apache-2.0
#include "prompts.h"

#include "items.h"
#include "json_lines.h"
#include "keys.h"
#include "options.h"
#include "sid_walk.h"

namespace cli {
namespace {

namespace dom = simdjson::dom;

int32_t token_of(const std::string& place, dom::element value) {
  int64_t token = 0;
  if (value.get(token) || token < -1 || token > INT32_MAX)
    throw Failure(place + ": \"tokens\": " + simdjson::minify(value) + ", expected a token");
  return static_cast<int32_t>(token);
}

dom::array array_of(const Prompt& prompt, const char* key, dom::element value) {
  dom::array values;
  if (value.get(values)) throw Failure(prompt.place + ": \"" + key + "\": expected an array");
  return values;
}

void read_line(dom::element root, KeyCheck& keys, Histories& histories, Prompt& prompt) {
  dom::object object;
  dom::element tokens, history;
  const bool is_object = !root.get(object);
  const std::string complaint = is_object ? keys.complaint(object) : "";
  if (!complaint.empty()) throw Failure(prompt.place + ": " + complaint);
  const bool has_tokens = is_object && !object["tokens"].get(tokens);
  const bool has_history = is_object && !object["history"].get(history);
  if (has_tokens == has_history)
    throw Failure(prompt.place + R"(: expected an object with either "tokens": [...] or "history": [...])");
  if (has_tokens) {
    for (const dom::element each : array_of(prompt, "tokens", tokens))
      prompt.tokens.push_back(token_of(prompt.place, each));
  } else {
    histories.begin(prompt);
    for (const dom::element each : array_of(prompt, "history", history))
      histories.append(json_item(prompt.place + ": \"history\"", each), prompt);
  }
}

}  // namespace

Histories::Histories(const sidbeam_index* index, const sidbeam_index_info& info, const Vocabulary& vocabulary,
                     int32_t group, std::vector<int32_t> start)
    : index_(index),
      info_(info),
      vocabulary_(vocabulary),
      group_(static_cast<size_t>(group)),
      start_(std::move(start)) {}

void Histories::begin(Prompt& prompt) const {
  prompt.tokens = start_;
  fill_position(prompt);
}

void Histories::fill_position(Prompt& prompt) const {
  while (prompt.tokens.size() % group_ != 0) prompt.tokens.push_back(-1);
}

// One pass: sidbeam_index_find_item takes one per item.
void Histories::number_items() {
  const auto take = [this](int64_t row, std::string id) { rows_.emplace(std::move(id), row); };
  if (info_.version == 0) return each_item(index_, info_.id_type, 0, info_.items, take);
  each_live_sid(index_, [&](int64_t, std::span<const int64_t> rows) {
    for (const int64_t row : rows) each_item(index_, info_.id_type, row, row + 1, take);
  });
}

void Histories::append(const std::string& item, Prompt& prompt) {
  if (rows_.empty()) number_items();
  const auto found = rows_.find(item);
  if (found == rows_.end()) throw Failure(prompt.place + ": no item '" + item + "' in the index");
  int64_t ordinal = 0;
  call(sidbeam_index_item_ordinal, index_, found->second, &ordinal);
  const std::vector<int32_t> sid = sid_of(index_, info_.levels, ordinal);
  for (size_t level = 0; level < sid.size(); ++level) {
    const int64_t token = vocabulary_.token(level, sid[level]);
    if (token < 0 || token > INT32_MAX) {
      throw Failure(prompt.place + ": item '" + item + "': code " + std::to_string(sid[level]) + " of level " +
                    std::to_string(level) + " has no token");
    }
    prompt.tokens.push_back(static_cast<int32_t>(token));
  }
  fill_position(prompt);
}

Prompt prompt_of_tokens(const std::string& option, const std::string& list) {
  return {option, parse_list(option, list, -1, INT32_MAX)};
}

Prompt prompt_of_history(const std::string& option, const std::string& list, Histories& histories) {
  Prompt prompt{option, {}};
  histories.begin(prompt);
  for (const std::string& item : split(list, ',')) histories.append(item, prompt);
  return prompt;
}

std::vector<Prompt> read_prompts(const std::string& path, Histories& histories) {
  KeyCheck keys;
  std::vector<Prompt> prompts;
  each_json_line(path, [&](const std::string& place, dom::element line) {
    Prompt prompt{place, {}};
    read_line(line, keys, histories, prompt);
    prompts.push_back(std::move(prompt));
  });
  if (prompts.empty()) throw Failure("'" + path + "': expected at least one request, there is none");
  return prompts;
}

}  // namespace cli
