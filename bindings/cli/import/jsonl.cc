// JSON lines: {"item": "B07", "sid": [3, 1, 2], "priority": 5}, one per line; blank lines and other fields are passed
// over.
// SPDX-License-Identifier: Apache-2.0
#include <simdjson.h>

#include "../failure.h"
#include "../keys.h"
#include "source.h"

namespace cli {
namespace {

namespace dom = simdjson::dom;

class JsonlSource final : public Source {
 public:
  JsonlSource(const CatalogueFiles& files, const Shape& shape) : Source(shape), file_(files.input), text_(files.input) {
    const ImportOptions& o = files.options;
    if (!o.item_column.empty()) item_ = o.item_column;
    if (!o.sid_columns.empty()) sid_ = o.sid_columns;
    if (!o.priority_column.empty()) priority_ = o.priority_column;
  }

  IdForm id_form() const override { return IdForm::kText; }
  int64_t done() const override { return text_.position(); }
  int64_t total() const override { return file_.size(); }

 protected:
  bool read_row(Batch& batch) override {
    for (std::string_view line; text_.next_line(line);) {
      ++line_;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      read_object(batch, line);
      return true;
    }
    return false;
  }

  std::string place() const override { return "'" + file_.path() + "':" + std::to_string(line_); }

 private:
  void read_object(Batch& batch, std::string_view line) {
    dom::element root;
    if (const auto error = parser_.parse(line.data(), line.size(), false).get(root)) {
      fail(std::string("not JSON: ") + simdjson::error_message(error));
    }
    dom::object object;
    if (root.get(object)) fail("expected an object {\"" + item_ + "\": ..., \"" + sid_ + "\": [...]}");
    if (const std::string complaint = keys_.complaint(object); !complaint.empty()) fail(complaint);
    read_sid(batch, object);
    read_item(batch, object);
    int64_t priority = 0;
    const auto error = object[priority_].get(priority);
    if (error && error != simdjson::NO_SUCH_FIELD) fail("\"" + priority_ + "\": expected an integer");
    batch.priorities.push_back(priority);
  }

  void read_sid(Batch& batch, const dom::object& object) {
    dom::element value;
    if (object[sid_].get(value)) fail("no \"" + sid_ + "\" (--sid-columns), expected an array of codes");
    dom::array codes;
    if (value.get(codes)) fail("\"" + sid_ + "\": expected an array of codes");
    for (const dom::element code : codes) {
      int64_t number;
      if (code.get(number)) fail("\"" + sid_ + "\": " + simdjson::minify(code) + ", expected an integer code");
      add_code(batch, number);
    }
    end_row(batch);
  }

  void read_item(Batch& batch, const dom::object& object) {
    dom::element value;
    if (object[item_].get(value)) fail("no \"" + item_ + "\" (--item-column), expected the item's id");
    std::string_view name;
    if (value.is_int64() || value.is_uint64()) return batch.add_name(simdjson::minify(value));
    if (value.get(name)) fail("\"" + item_ + "\": expected a string or an integer");
    if (name.empty()) fail("\"" + item_ + "\": empty id");
    batch.add_name(name);
  }

  const InputFile& file_;
  TextReader text_;
  std::string item_ = "item", sid_ = "sid", priority_ = "priority";
  dom::parser parser_;
  KeyCheck keys_;
  int64_t line_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_jsonl(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<JsonlSource>(files, shape);
}

}  // namespace cli
