// A JSON list of records: [{"item": "B07", "sid": [3, 1, 2]}, ...].
// SPDX-License-Identifier: Apache-2.0
#include "failure.h"
#include "json.h"

namespace importer {
namespace {

class RecordsSource final : public Source {
 public:
  RecordsSource(const CatalogueFiles& files, const Shape& shape)
      : Source(files, shape), text_(file_), reader_(sids_, options_) {
    at_ = text_.view().data();
    if (const auto error = parser_.iterate(text_.view()).get(document_)) fail_json(error);
    ondemand::array array;
    if (const auto error = document_.get_array().get(array)) fail_json(error);
    next_ = array.begin();
    end_ = array.end();
  }

  IdForm id_form() const override { return IdForm::kText; }
  int64_t done() const override { return at_ - text_.view().data(); }
  int64_t total() const override { return file_.size(); }

 protected:
  bool read_record(Batch& batch) override {
    if (!(next_ != end_)) {
      const char* rest = nullptr;
      if (document_.current_location().get(rest) == simdjson::SUCCESS) fail_json(simdjson::TRAILING_CONTENT);
      return false;
    }
    ondemand::value value;
    reader_.check((*next_).get(value));
    at_ = value.raw_json_token().data();
    ondemand::object object;
    if (value.get_object().get(object)) fail("expected a list of objects {\"item\": ..., \"sid\": [...]}");
    const JsonReader::Record record = reader_.read_record(batch, object, false);
    name_item(record.item);
    end_record(batch, record.item);
    batch.priorities.resize(batch.size(), record.priority);
    ++next_;
    ++record_;
    return true;
  }

  int64_t line() const override { return text_.line_of(at_); }

 private:
  [[noreturn]] void fail_json(simdjson::error_code error) const {
    throw Failure("'" + file_.path() + "': not JSON: " + simdjson::error_message(error));
  }

  JsonText text_;
  JsonReader reader_;
  ondemand::parser parser_;
  ondemand::document document_;
  simdjson::simdjson_result<ondemand::array_iterator> next_, end_;
  const char* at_;
};

}  // namespace

std::unique_ptr<Source> open_records(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<RecordsSource>(files, shape);
}

}  // namespace importer
