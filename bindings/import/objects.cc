// One JSON object, an item per key: LC-Rec's *.index.json {"17": ["<a_236>", "<b_231>"], ...}, or a string, a list of
// SIDs or an object with a field for each. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <utility>

#include "failure.h"
#include "json.h"

namespace importer {
namespace {

class ObjectsSource final : public Source {
 public:
  ObjectsSource(const CatalogueFiles& files, const Shape& shape)
      : Source(files, shape), text_(file_), reader_(sids_, options_) {
    if (const auto error = parser_.iterate(text_.view()).get(document_)) fail_json(error);
    ondemand::json_type type{};
    if (const auto error = document_.type().get(type)) fail_json(error);
    if (type != ondemand::json_type::object) {
      throw Failure("'" + file_.path() + "': expected one JSON object {\"item\": [\"<a_1>\", ...], ...}");
    }
    if (const auto error = document_.get_object().get(object_)) fail_json(error);
    next_ = object_.begin();
    end_ = object_.end();
  }

  IdForm id_form() const override { return IdForm::kText; }
  int64_t done() const override { return at_ == nullptr ? 0 : at_ - text_.view().data(); }
  int64_t total() const override { return file_.size(); }

 protected:
  bool read_record(Batch& batch) override {
    if (!(next_ != end_)) {
      const char* rest = nullptr;
      if (document_.current_location().get(rest) == simdjson::SUCCESS) fail_json(simdjson::TRAILING_CONTENT);
      check_items();
      return false;
    }
    ondemand::field field;
    reader_.check((*next_).get(field));
    at_ = field.key().raw();
    reader_.check(field.unescaped_key().get(item_));
    name_item(item_);
    if (item_.empty()) fail("item '': empty id");
    ondemand::value value = field.value();
    ondemand::json_type type{};
    reader_.check(value.type().get(type));
    int64_t priority = 0;
    if (type == ondemand::json_type::object) {
      ondemand::object object;
      reader_.check(value.get_object().get(object));
      const JsonReader::Record record = reader_.read_record(batch, object, true);
      priority = record.priority;
      if (!record.item.empty()) item_ = record.item;
    } else {
      reader_.read_sids(batch, value);
    }
    end_record(batch, item_);
    batch.priorities.resize(batch.size(), priority);
    keys_.emplace_back(std::hash<std::string_view>()(item_), at_);
    ++next_;
    ++record_;
    return true;
  }

  int64_t line() const override { return at_ == nullptr ? 1 : text_.line_of(at_); }

 private:
  [[noreturn]] void fail_json(simdjson::error_code error) const {
    throw Failure("'" + file_.path() + "': not JSON: " + simdjson::error_message(error));
  }

  // Nobody can say which of two SIDs is meant: JSON gives a key one value. Sorting numbers is fast; names are compared
  // only where two numbers are equal.
  void check_items() {
    std::sort(keys_.begin(), keys_.end());
    for (size_t i = 1; i < keys_.size(); ++i) {
      if (keys_[i].first != keys_[i - 1].first) continue;
      const std::string name = key_at(keys_[i].second);
      if (name != key_at(keys_[i - 1].second)) continue;
      throw Failure("'" + file_.path() + "':" + std::to_string(text_.line_of(keys_[i].second)) + ": item '" + name +
                    "' comes twice, first in line " + std::to_string(text_.line_of(keys_[i - 1].second)));
    }
  }

  // The key whose first character is here; the parser has accepted it.
  static std::string key_at(const char* at) {
    const char* end = at;
    for (; *end != '"'; ++end) end += *end == '\\' ? 1 : 0;
    std::string literal(at - 1, static_cast<size_t>(end - at) + 2);
    simdjson::dom::parser parser;
    std::string_view name;
    if (parser.parse(literal).get(name)) return literal;
    return std::string(name);
  }

  JsonText text_;
  JsonReader reader_;
  ondemand::parser parser_;
  ondemand::document document_;
  ondemand::object object_;
  simdjson::simdjson_result<ondemand::object_iterator> next_, end_;
  std::string_view item_;
  const char* at_ = nullptr;                          // the item's key
  std::vector<std::pair<size_t, const char*>> keys_;  // hashes and places of the items
};

}  // namespace

std::unique_ptr<Source> open_objects(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<ObjectsSource>(files, shape);
}

}  // namespace importer
