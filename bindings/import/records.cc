// A JSON list of records: [{"item": "B07", "sid": [3, 1, 2]}, ...].
// SPDX-License-Identifier: Apache-2.0
#include "failure.h"
#include "json.h"
#include "json_parts.h"

namespace importer {
namespace {

class RecordsSource final : public JsonSource {
 public:
  RecordsSource(const CatalogueFiles& files, const Shape& shape) : JsonSource(files, shape), parts_(file_) {
    if (parts_.opening() == '[') return;
    throw Failure("'" + file_.path() + "': expected a JSON list [{\"item\": ..., \"sid\": [...]}, ...]");
  }

  int64_t done() const override { return parts_.position(); }

 protected:
  bool read_record(Batch& batch) override {
    bool more;
    reader_.check(parts_.advance(&more));
    if (!more) return false;
    do {
      if (const size_t bytes = read_pattern(batch, parts_.window())) {
        parts_.skip(bytes);
        return true;
      }
    } while (parts_.extend());
    std::string_view part;
    reader_.check(parts_.read(&part));
    const JsonReader::Record record = reader_.read_record(batch, parse(part), false);
    check_end();
    end_json(batch, record, part);
    parts_.skip(part.size());
    return true;
  }

  int64_t line() const override { return parts_.line(); }

 private:
  JsonParts parts_;
};

}  // namespace

std::unique_ptr<Source> open_records(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<RecordsSource>(files, shape);
}

}  // namespace importer
