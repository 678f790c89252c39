// What the formats of JSON share: records that are read through a pattern, or by the parser.
// SPDX-License-Identifier: Apache-2.0
#ifndef SIDBEAM_IMPORT_JSON_SOURCE_H
#define SIDBEAM_IMPORT_JSON_SOURCE_H

#include "json.h"
#include "json_parts.h"

namespace importer {

class JsonSource : public Source {
 public:
  JsonSource(const CatalogueFiles& files, const Shape& shape)
      : Source(files, shape),
        reader_(sids_, attributes_, options_, [this](std::string_view item) { name_item(item); }) {}
  IdForm id_form() const override { return IdForm::kText; }
  std::string id_field() const override { return reader_.id_field(); }
  int64_t total() const override { return file_.size(); }
  void check_asked() const override;
  bool gives_priorities() const override { return reader_.found_priority(); }

 protected:
  bool accepts(std::string_view record) const override { return simdjson::validate_utf8(record.data(), record.size()); }
  // The object that a text is; TextReader::kPadding bytes behind it are readable.
  ondemand::object parse(std::string_view text);
  // Nothing follows that object.
  void check_end();
  // The rest of a record that has been parsed, which `text` is.
  void end_json(Batch& batch, const JsonReader::Record& record, std::string_view text);

  JsonReader reader_;

 private:
  ondemand::parser parser_;
  ondemand::document document_;
};

// Records that are parts of one list or object.
class JsonPartsSource : public JsonSource {
 public:
  JsonPartsSource(const CatalogueFiles& files, const Shape& shape) : JsonSource(files, shape), parts_(file_) {}
  int64_t done() const override { return parts_.position(); }

 protected:
  size_t bytes_between(std::string_view text) const override { return parts_.bytes_between(text).value_or(kNoEnd); }
  void end_alike(std::string_view record, std::string_view item) override {
    end_part(item, parts_.position() + (record.data() - parts_.window().data()));
  }
  bool read_record(Batch& batch) override;
  virtual void read_part(Batch& batch, std::string_view part) = 0;
  // The record of the item, which began there in the file, has been read.
  virtual void end_part(std::string_view /*item*/, int64_t /*position*/) {}
  // All have been.
  virtual void end_parts() {}
  int64_t line() const override { return parts_.line(); }
  int opening() const { return parts_.opening(); }

 private:
  bool read_alike_parts(Batch& batch);

  JsonParts parts_;
};

}  // namespace importer

#endif
