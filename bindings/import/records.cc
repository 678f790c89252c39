// A JSON list of records: [{"item": "B07", "sid": [3, 1, 2]}, ...].
// SPDX-License-Identifier: Apache-2.0
#include "failure.h"
#include "json_source.h"

namespace importer {
namespace {

class RecordsSource final : public JsonPartsSource {
 public:
  RecordsSource(const CatalogueFiles& files, const Shape& shape) : JsonPartsSource(files, shape) {
    if (opening() == '[') return;
    throw Failure("'" + file_.path() + "': expected a JSON list [{\"item\": ..., \"sid\": [...]}, ...]");
  }

 protected:
  void read_part(Batch& batch, std::string_view part) override {
    const JsonReader::Record record = reader_.read_record(batch, parse(part), false);
    check_end();
    end_json(batch, record, part);
  }
};

}  // namespace

std::unique_ptr<Source> open_records(const CatalogueFiles& files, const Shape& shape) {
  return std::make_unique<RecordsSource>(files, shape);
}

}  // namespace importer
