// One JSON object, an item per key: LC-Rec's *.index.json {"17": ["<a_236>", "<b_231>"], ...}, or a string, a list of
// SIDs or an object with a field for each. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <utility>

#include "failure.h"
#include "json_source.h"

namespace importer {
namespace {

class ObjectsSource final : public JsonPartsSource {
 public:
  ObjectsSource(const CatalogueFiles& files, const Shape& shape)
      : JsonPartsSource(files, shape), survey_(!shape.framed) {
    if (opening() == '{') return;
    throw Failure("'" + file_.path() + "': expected one JSON object {\"item\": [\"<a_1>\", ...], ...}");
  }

 protected:
  void read_part(Batch& batch, std::string_view part) override {
    object_.assign("{").append(part).append("}");
    const size_t bytes = object_.size();
    object_.append(TextReader::kPadding, '\0');
    JsonReader::Record record;
    for (auto found : parse({object_.data(), bytes})) {
      ondemand::field field;
      reader_.check(std::move(found).get(field));
      record = read_field(batch, field);
    }
    check_end();
    end_json(batch, record, {object_.data() + 1, part.size()});
  }

  void end_part(std::string_view item, int64_t position) override {
    if (!survey_) return;
    keys_.emplace_back(std::hash<std::string_view>()(item), position);
    // In the order of numbers, and of ids of one length.
    in_order_ = in_order_ && (item.size() > last_.size() || (item.size() == last_.size() && item > last_));
    last_ = item;
  }

  void end_parts() override { check_items(); }

 private:
  JsonReader::Record read_field(Batch& batch, ondemand::field field) {
    const std::string_view key(field.key().raw());
    reader_.mark_item(key.substr(0, key.find('"')));
    JsonReader::Record record;
    reader_.check(field.unescaped_key().get(record.item));
    name_item(record.item);
    if (record.item.empty()) fail("item '': empty id");
    ondemand::value value = field.value();
    ondemand::json_type type{};
    reader_.check(value.type().get(type));
    if (type != ondemand::json_type::object) {
      reader_.read_sids(batch, value);
      return record;
    }
    ondemand::object object;
    reader_.check(value.get_object().get(object));
    const JsonReader::Record inner = reader_.read_record(batch, object, true);
    return {inner.item.empty() ? record.item : inner.item, inner.priority};
  }

  // Nobody can say which of two SIDs is meant: JSON gives a key one value. Sorting numbers is fast; names are compared
  // only where two numbers are equal.
  void check_items() {
    if (in_order_) return;
    std::sort(keys_.begin(), keys_.end());
    for (size_t i = 1; i < keys_.size(); ++i) {
      if (keys_[i].first != keys_[i - 1].first) continue;
      const std::string name = key_at(keys_[i].second);
      if (name != key_at(keys_[i - 1].second)) continue;
      throw Failure("'" + file_.path() + "':" + std::to_string(line_at(keys_[i].second)) + ": item '" + name +
                    "' comes twice, first in line " + std::to_string(line_at(keys_[i - 1].second)));
    }
  }

  // The key that begins here; the parser has accepted it.
  std::string key_at(int64_t position) const {
    std::string text;
    size_t end = 0;
    for (int64_t bytes = 256; end == 0; bytes *= 2) {
      text = file_.piece(position, std::min(bytes, file_.size() - position));
      for (end = 1; end < text.size() && text[end] != '"'; ++end) end += text[end] == '\\' ? 1 : 0;
      if (end >= text.size() && static_cast<int64_t>(text.size()) == bytes) end = 0;
    }
    simdjson::dom::parser parser;
    std::string_view name;
    text.resize(std::min(end + 1, text.size()));
    return parser.parse(text).get(name) ? text : std::string(name);
  }

  int64_t line_at(int64_t position) const {
    constexpr int64_t kPiece = int64_t{1} << 20;
    int64_t lines = 1;
    for (int64_t at = 0; at < position; at += kPiece) {
      const std::string piece = file_.piece(at, std::min(kPiece, position - at));
      lines += std::count(piece.begin(), piece.end(), '\n');
    }
    return lines;
  }

  bool survey_;                                   // the second reading has no need to look for keys that come twice
  std::string object_;                            // of one member
  std::vector<std::pair<size_t, int64_t>> keys_;  // hashes and places of the items
  bool in_order_ = true;                          // each comes behind the one before, and therefore none twice
  std::string last_;
};

}  // namespace

std::unique_ptr<Source> open_objects(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<ObjectsSource>(files, shape);
}

}  // namespace importer
