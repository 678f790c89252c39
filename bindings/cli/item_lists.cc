// SPDX-License-Identifier: Apache-2.0
#include "item_lists.h"

#include "files.h"
#include "items.h"
#include "json_lines.h"

namespace cli {
namespace {

bool has_lists_per_request(const std::string& path) {
  const std::string end = ".jsonl";
  return path.size() >= end.size() && path.compare(path.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

ItemLists::ItemLists(const std::string& path, int32_t id_type, int64_t requests)
    : id_type_(id_type), shared_(!has_lists_per_request(path)) {
  if (shared_)
    read_lines(path);
  else
    read_arrays(path);
  if (const auto lists = static_cast<int64_t>(lists_.size()); !shared_ && lists != requests)
    throw Failure("'" + path + "': " + std::to_string(lists) + " lists, expected " + std::to_string(requests) +
                  ", one per request");
}

ItemLists::ItemLists(const std::string& place, const std::vector<std::string>& ids, int32_t id_type)
    : id_type_(id_type), shared_(true) {
  lists_.push_back({0, 0, true});
  for (const std::string& id : ids) add(place, id);
}

std::optional<sidbeam_item_list> ItemLists::of(int64_t request) const {
  const Span& span = lists_[shared_ ? 0 : static_cast<size_t>(request)];
  if (!span.given) return std::nullopt;
  sidbeam_item_list list = SIDBEAM_ITEM_LIST_INIT;
  list.count = span.end - span.begin;
  if (id_type_ == SIDBEAM_ID_STRING) {
    list.names = names_.c_str();
    list.offsets = offsets_.data() + span.begin;
  } else {
    list.numbers = numbers_.data() + span.begin;
  }
  return list;
}

void ItemLists::add(const std::string& place, const std::string& id) {
  if (id_type_ == SIDBEAM_ID_STRING) {
    names_ += id;
    offsets_.push_back(static_cast<int64_t>(names_.size()));
  } else {
    numbers_.push_back(parse_id(place, id_type_, id));
  }
  ++lists_.back().end;
}

void ItemLists::read_lines(const std::string& path) {
  const InputFile file(path);
  TextReader text(file);
  int64_t number = 0;
  lists_.push_back({0, 0, true});
  for (std::string_view line; text.next_line(line);) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (!line.empty()) add("'" + path + "':" + std::to_string(number), std::string(line));
  }
}

void ItemLists::read_arrays(const std::string& path) {
  each_json_line(path, [&](const std::string& place, simdjson::dom::element line) {
    const int64_t begin = lists_.empty() ? 0 : lists_.back().end;
    lists_.push_back({begin, begin, !line.is_null()});
    if (line.is_null()) return;
    simdjson::dom::array items;
    if (line.get(items)) throw Failure(place + ": expected an array of ids, or null");
    for (const simdjson::dom::element item : items) add(place, json_item(place, item));
  });
}

}  // namespace cli
