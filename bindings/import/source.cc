// What the sources of all formats share.
// SPDX-License-Identifier: Apache-2.0
#include "source.h"

#include <utility>

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
  digit_names = 0;
  priorities.clear();
  for (AttributeValues& values : attributes) values.clear();
}

Source::Source(const CatalogueFiles& files, const Shape& shape)
    : options_(files.options),
      file_(files.input),
      shape_(shape),
      sids_(shape_, files.options, *this),
      attributes_(shape_.attributes) {}

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
  if (!item_.empty()) text += ": item '" + shortened(item_) + "'";
  return text;
}

std::string Source::row() const {
  std::string text = item_.empty() ? "" : "item '" + shortened(item_) + "', ";
  return text + (line() >= 0 ? "line " + std::to_string(line()) : "row " + std::to_string(record_));
}

void Source::end_record(Batch& batch, std::string_view item) {
  if (!IdTexts::plain(item)) texts_.check(item, *this, id_field());
  for (int32_t count = sids_.end_record(batch); count > 0; --count) batch.add_name(item);
  item_ = {};
}

size_t Source::read_alike(Batch& batch, std::string_view text, size_t* rows) {
  size_t end = 0, next = 0;  // of the last record, and where another one may begin
  for (*rows = 0; *rows < AlikeRows::kMost; ++*rows) {
    const std::string_view rest = text.substr(next);
    const std::string_view record = rest.substr(0, patterns_.match(rest, alike_));
    if (record.empty() || !(alike_.ascii || accepts(record))) break;
    const size_t between = bytes_between(rest.substr(record.size()));
    if (between == kNoEnd || !(alike_.item_is_digits || IdTexts::plain(alike_.item, alike_.ascii))) break;
    const size_t length = sids_.try_numbers(alike_.numbers, alike_.count, alike_rows_.codes());
    if (length == 0) break;
    alike_rows_.add(alike_, length);
    end_alike(record, alike_.item);
    end = next + record.size();
    next = end + between;
  }
  if (*rows > 0) alike_rows_.move_to(batch);
  return end;
}

void Source::learn(std::string_view record, std::vector<Pattern::Mark> marks, const std::vector<std::string_view>& sid,
                   bool whole) {
  std::vector<std::string_view> numbers;
  if (!sids_.find_numbers(sid, whole, numbers)) return;
  for (size_t l = 0; l < numbers.size(); ++l) {
    marks.push_back({Pattern::Hole::kNumber, numbers[l], '\0', '\0', static_cast<int32_t>(l)});
  }
  patterns_.learn(record, std::move(marks));
}

}  // namespace importer
