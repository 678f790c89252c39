// SPDX-License-Identifier: Apache-2.0
#include "json_source.h"

#include "failure.h"

namespace importer {

// A field of priorities that has another name than the usual one, which no record needs to have.
void JsonSource::check_asked() const {
  if (options_.priority_column.empty() || reader_.found_priority()) return;
  throw Failure("'" + file_.path() + "': no record has a field '" + options_.priority_column + "' (" +
                options_.named("priority_column") + ")");
}

ondemand::object JsonSource::parse(std::string_view text) {
  reader_.begin_places();
  attributes_.begin();
  reader_.check(parser_.iterate(text.data(), text.size(), text.size() + TextReader::kPadding).get(document_));
  ondemand::object object;
  if (const auto error = document_.get_object().get(object)) {
    if (error != simdjson::INCORRECT_TYPE) reader_.check(error);
    fail("expected an object {\"item\": ..., \"sid\": [...]}");
  }
  return object;
}

void JsonSource::check_end() {
  const char* rest = nullptr;
  if (document_.current_location().get(rest) == simdjson::SUCCESS) reader_.check(simdjson::TRAILING_CONTENT);
}

void JsonSource::end_json(Batch& batch, const JsonReader::Record& record, std::string_view text) {
  name_item(record.item);
  end_record(batch, record.item);
  batch.priorities.resize(batch.size(), record.priority);
  attributes_.end(batch);
  const JsonReader::Places& places = reader_.places();
  // A record that is read by a pattern would have no attributes.
  if (places.simple && attributes_.empty()) learn(text, places.marks, places.sid, places.whole);
}

bool JsonPartsSource::read_record(Batch& batch) {
  bool more;
  reader_.check(parts_.advance(&more));
  if (!more) {
    end_parts();
    return false;
  }
  if (read_alike_parts(batch)) return true;
  const int64_t position = parts_.position();
  std::string_view part;
  reader_.check(parts_.read(&part));
  read_part(batch, part);
  parts_.skip(part.size());
  end_part(batch.name(batch.size() - 1), position);
  return true;
}

bool JsonPartsSource::read_alike_parts(Batch& batch) {
  do {
    size_t rows;
    if (const size_t bytes = read_alike(batch, parts_.window(), &rows)) {
      parts_.skip(bytes);
      return true;
    }
  } while (parts_.extend());
  return false;
}

}  // namespace importer
