// JSON lines: {"item": "B07", "sid": [3, 1, 2], "priority": 5}, one per line; blank lines and other fields are passed
// over.
// SPDX-License-Identifier: Apache-2.0
#include "json_line.h"

namespace importer {
namespace {

class JsonlSource final : public Source {
 public:
  JsonlSource(const CatalogueFiles& files, const Shape& shape)
      : Source(files, shape), text_(file_), reader_(sids_, options_) {}

  IdForm id_form() const override { return IdForm::kText; }
  int64_t done() const override { return text_.position(); }
  int64_t total() const override { return file_.size(); }

 protected:
  bool read_record(Batch& batch) override {
    for (std::string_view line; text_.next_line(line);) {
      ++line_;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      if (!try_line(batch, line)) read_line(batch, line);
      return true;
    }
    return false;
  }

  int64_t line() const override { return line_; }

 private:
  bool try_line(Batch& batch, std::string_view line) {
    if (!scanner_.scan(line)) return false;
    if (scanner_.form == JsonLine::Form::kNumbers) {
      if (!sids_.try_numbers(batch, scanner_.numbers, scanner_.count)) return false;
    } else if (scanner_.form == JsonLine::Form::kTokens) {
      if (!sids_.try_tokens(batch, scanner_.tokens, scanner_.count)) return false;
    } else if (!sids_.try_text(batch, scanner_.tokens[0])) {
      return false;
    }
    end_record(batch, scanner_.item);
    batch.priorities.resize(batch.size(), scanner_.priority);
    return true;
  }

  void read_line(Batch& batch, std::string_view line) {
    ondemand::document document;
    reader_.check(parser_.iterate(line.data(), line.size(), line.size() + TextReader::kPadding).get(document));
    ondemand::object object;
    if (const auto error = document.get_object().get(object)) {
      if (error != simdjson::INCORRECT_TYPE) reader_.check(error);
      fail("expected an object {\"item\": ..., \"sid\": [...]}");
    }
    const JsonReader::Record record = reader_.read_record(batch, object, false);
    const char* rest = nullptr;
    if (document.current_location().get(rest) == simdjson::SUCCESS) reader_.check(simdjson::TRAILING_CONTENT);
    name_item(record.item);
    end_record(batch, record.item);
    batch.priorities.resize(batch.size(), record.priority);
  }

  TextReader text_;
  JsonReader reader_;
  JsonLine scanner_{reader_.fields()};
  ondemand::parser parser_;
  int64_t line_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_jsonl(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<JsonlSource>(files, shape);
}

}  // namespace importer
