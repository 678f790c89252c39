// What the sources of all formats share.
// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include "failure.h"

namespace importer {

std::string_view Batch::name(size_t row) const {
  const size_t begin = row == 0 ? 0 : static_cast<size_t>(name_ends[row - 1]);
  return std::string_view(names).substr(begin, static_cast<size_t>(name_ends[row]) - begin);
}

void Batch::add_name(std::string_view name) {
  names += name;
  name_ends.push_back(static_cast<int64_t>(names.size()));
}

void Batch::clear() {
  codes.clear();
  lengths.clear();
  ids.clear();
  names.clear();
  name_ends.clear();
  priorities.clear();
}

Source::Source(const CatalogueFiles& files, const Shape& shape)
    : options_(files.options), file_(files.input), shape_(shape), sids_(shape_, files.options, *this) {}

bool Source::next(Batch& batch) {
  batch.clear();
  while (!batch.full() && read_record(batch)) {
  }
  return batch.size() > 0;
}

std::string Source::place() const {
  std::string text = "'" + file_.path() + "'";
  if (line() >= 0) text += ":" + std::to_string(line());
  if (line() < 0) text += ": row " + std::to_string(record_);
  if (!item_.empty()) text += ": item '" + std::string(item_) + "'";
  return text;
}

std::string Source::row() const {
  std::string text = item_.empty() ? "" : "item '" + std::string(item_) + "', ";
  return text + (line() >= 0 ? "line " + std::to_string(line()) : "row " + std::to_string(record_));
}

void Source::end_record(Batch& batch, std::string_view item) {
  for (int32_t count = sids_.end_record(batch); count > 0; --count) batch.add_name(item);
  item_ = {};
}

}  // namespace importer
