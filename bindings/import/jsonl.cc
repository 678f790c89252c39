// JSON lines: {"item": "B07", "sid": [3, 1, 2], "priority": 5}, one per line; blank lines and other fields are passed
// over.
// SPDX-License-Identifier: Apache-2.0
#include "json_source.h"

namespace importer {
namespace {

class JsonlSource final : public JsonSource {
 public:
  JsonlSource(const CatalogueFiles& files, const Shape& shape) : JsonSource(files, shape), text_(file_) {}

  int64_t done() const override { return text_.position(); }

 protected:
  bool read_record(Batch& batch) override {
    do {
      size_t lines;
      if (const size_t bytes = read_alike(batch, text_.window(), &lines)) {
        text_.skip(bytes);
        line_ += static_cast<int64_t>(lines);
        return true;
      }
    } while (!text_.has_line() && text_.extend());
    for (std::string_view line; text_.next_line(line);) {
      ++line_;
      if (line.find_first_not_of(" \t\r") == line.npos) continue;
      read_line(batch, line);
      return true;
    }
    return false;
  }

  int64_t line() const override { return line_; }

 private:
  void read_line(Batch& batch, std::string_view line) {
    const JsonReader::Record record = reader_.read_record(batch, parse(line), false);
    check_end();
    // A pattern has the line's end too, unless the last line of the file lacks one: then nothing fits it.
    const auto bytes = static_cast<size_t>(text_.window().data() - line.data());
    end_json(batch, record, {line.data(), bytes});
  }

  TextReader text_;
  int64_t line_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_jsonl(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<JsonlSource>(files, shape);
}

}  // namespace importer
