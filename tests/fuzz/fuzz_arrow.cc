// A catalogue in Arrow's layouts: what the library reads of them is what it is given row by row; what is wrong with a
// row, or with an array as far as that can be known, is refused; every stream, schema and array is released once, and
// nothing is left of a call that failed.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <string>

#include "arrow/columns.h"
#include "line.h"
#include "specimens.h"

namespace {

using fuzz::Handle;
using fuzz::arrow::Columns;
using fuzz::arrow::List;
using fuzz::arrow::Value;

// (SID, item) pairs; those of a row have its id. Rows are dealt to batches.
struct Row {
  std::vector<std::vector<int32_t>> sids;
  int64_t id = 0, priority = 0;
  std::string name;
  bool has_value = false;  // of the attribute, which is the same wherever there is one, since pairs may merge
};

struct Shape {
  int32_t levels = 1;
  std::vector<int32_t> codes;
  bool variable = false, named = false, unsigned_ids = false, has_items = false, has_priorities = false;
  bool by_level = false, nested = false;
  std::string list, code, item, values, priority;  // formats; `values`: of a dictionary
  bool in_dictionary = false;
  // An attribute: none, numbers, text, or text in a dictionary; its format.
  enum Attribute { kNoAttribute, kNumber, kText, kCoded, kAttributes } attribute = kNoAttribute;
  std::string attribute_format;

  int32_t attribute_type() const {
    if (attribute == kNumber)
      return attribute_format == "f" || attribute_format == "g" ? SIDBEAM_ATTRIBUTE_F32 : SIDBEAM_ATTRIBUTE_I64;
    return SIDBEAM_ATTRIBUTE_STRING;
  }
};

// What is put wrong in one row.
enum Fault { kNone, kCode, kLong, kEmpty, kGap, kNoItem, kNoSid, kFaults };

template <size_t count>
std::string pick(Columns& columns, const char* const (&all)[count]) {
  return all[columns.in(0, static_cast<int32_t>(count) - 1)];
}

Shape draw_shape(Columns& columns) {
  static constexpr const char* kNumbers[] = {"c", "C", "s", "S", "i", "I", "l", "L", "f", "g"};
  static constexpr const char* kIntegers[] = {"c", "C", "s", "S", "i", "I", "l", "L"};
  static constexpr const char* kTexts[] = {"u", "U", "z", "Z", "vu", "vz"};
  static constexpr const char* kLists[] = {"+w:", "+l", "+L", "+vl", "+vL"};
  Shape shape;
  shape.levels = columns.in(1, 4);
  for (int32_t l = 0; l < shape.levels; ++l) shape.codes.push_back(columns.in(1, 100));
  shape.variable = columns.one_in(2);
  shape.by_level = columns.one_in(4);
  shape.nested = !shape.by_level && columns.one_in(4);
  shape.named = columns.one_in(2);
  shape.unsigned_ids = columns.one_in(2);
  shape.has_items = shape.named || shape.nested || columns.one_in(2);
  shape.has_priorities = columns.one_in(2);
  shape.list = pick(columns, kLists);
  if (shape.list == "+w:") shape.list += std::to_string(shape.levels);
  shape.code = pick(columns, kNumbers);
  shape.in_dictionary = shape.named && columns.one_in(3);
  shape.values = pick(columns, kTexts);
  shape.item = shape.in_dictionary ? pick(columns, kIntegers)
               : shape.named       ? pick(columns, kTexts)
                                   : pick(columns, kNumbers);
  shape.priority = pick(columns, kNumbers);
  shape.attribute = static_cast<Shape::Attribute>(columns.in(0, Shape::kAttributes - 1));
  shape.attribute_format = shape.attribute == Shape::kNumber  ? pick(columns, kNumbers)
                           : shape.attribute == Shape::kCoded ? pick(columns, kIntegers)
                                                              : pick(columns, kTexts);
  return shape;
}

Row draw_row(Columns& columns, const Shape& shape) {
  Row row;
  const int32_t count = shape.nested ? columns.in(1, 3) : 1;
  for (int32_t i = 0; i < count; ++i) {
    std::vector<int32_t>& sid = row.sids.emplace_back();
    const int32_t length = shape.variable ? columns.in(1, shape.levels) : shape.levels;
    for (int32_t l = 0; l < length; ++l) sid.push_back(columns.in(0, shape.codes[static_cast<size_t>(l)] - 1));
  }
  row.id = columns.in(0, 120);
  row.priority = columns.in(0, 3);
  row.has_value = columns.one_in(2);
  row.name = std::string(static_cast<size_t>(columns.in(0, 20)), static_cast<char>('a' + columns.in(0, 25)));
  return row;
}

// A SID as a list, with the fault, if there is one.
std::optional<List> list_of(Columns& columns, const Shape& shape, const std::vector<int32_t>& sid, Fault fault) {
  List list(sid.begin(), sid.end());
  const bool fixed = shape.by_level || shape.list.starts_with("+w:");
  if (fixed || (shape.variable && columns.one_in(2))) list.resize(static_cast<size_t>(shape.levels));
  if (fault == kCode) list[0] = 101 + columns.in(0, 26);  // fits every type, and no level
  if (fault == kLong) list.assign(static_cast<size_t>(shape.levels) + 1, Value{0});
  if (fault == kEmpty) std::fill(list.begin(), list.end(), Value{});
  if (fault == kGap) list = {Value{}, Value{0}};
  if (fault == kNoSid) return std::nullopt;
  return list;
}

// Whether a row of this shape can have the fault.
bool fits(const Shape& shape, Fault fault) {
  const bool fixed = shape.by_level || shape.list.starts_with("+w:");
  if (fault == kLong) return !fixed;
  if (fault == kGap) return fixed ? shape.levels == 2 : shape.levels > 1;
  if (fault == kNoItem) return shape.has_items;
  return fault != kNoSid || !shape.by_level;
}

class Stream {
 public:
  Stream(Columns& columns, const Shape& shape) : columns_(columns), shape_(shape) {
    schema_ = batch({}, kNone, 0);
    source_.schema = schema_;
    source_.fail_at = -1;
  }

  arrow_column* batch(const std::vector<Row>& rows, Fault fault, size_t at) {
    const int32_t offset = columns_.in(0, 2);  // of the struct: the columns have as many rows more
    std::vector<arrow_column*> children = sids(rows, fault, at, offset);
    std::vector<std::optional<std::string>> names(static_cast<size_t>(offset), "skipped");
    List ids(static_cast<size_t>(offset), Value{7}), priorities(ids);
    for (size_t i = 0; i < rows.size(); ++i) {
      const bool missing = fault == kNoItem && i == at;
      names.push_back(missing ? std::nullopt : std::optional(rows[i].name));
      ids.push_back(missing ? Value{} : Value{rows[i].id});
      priorities.emplace_back(rows[i].priority);
    }
    const char* const format = shape_.item.c_str();
    const int32_t before = columns_.in(0, 2);
    if (shape_.has_items)
      children.push_back(shape_.in_dictionary
                             ? columns_.dictionary("item", format, shape_.values.c_str(), names, before)
                         : shape_.named ? columns_.texts("item", format, names, before)
                                        : columns_.numbers("item", format, ids, before));
    if (shape_.has_priorities)
      children.push_back(columns_.numbers("priority", shape_.priority.c_str(), priorities, columns_.in(0, 2)));
    if (shape_.attribute != Shape::kNoAttribute) children.push_back(attribute(rows, offset));
    return columns_.batch(static_cast<int64_t>(rows.size()), offset, children);
  }

  void add(arrow_column* batch) { batches_.push_back(batch); }
  arrow_column* any() {
    const int32_t which = columns_.in(-1, static_cast<int32_t>(batches_.size()) - 1);
    return which < 0 ? schema_ : batches_[static_cast<size_t>(which)];
  }

  // Adds it all; the stream is released, and all that it handed out.
  sidbeam_status give(sidbeam_builder* builder, int64_t* pairs, sidbeam_error* err) {
    sidbeam_arrow_config config = SIDBEAM_ARROW_CONFIG_INIT;
    if (shape_.by_level) config.level_prefix = "level ";
    config.all_attributes = 1;
    const std::vector<const arrow_column*> in_order(batches_.begin(), batches_.end());
    source_.batches = in_order.data();
    source_.count = static_cast<int64_t>(in_order.size());
    ArrowArrayStream stream;
    arrow_export(&source_, &stream);
    const sidbeam_status status = sidbeam_builder_add_arrow(builder, &stream, &config, pairs, err);
    FUZZ_CHECK(stream.release == nullptr && source_.streams == 0 && source_.objects == 0);
    arrow_export(&source_, &stream);
    sidbeam_arrow_info info = SIDBEAM_ARROW_INFO_INIT;
    const sidbeam_status inspected = sidbeam_arrow_inspect(&stream, &config, nullptr, &info, nullptr);
    FUZZ_CHECK(source_.streams == 0 && source_.objects == 0);
    FUZZ_CHECK(status != SIDBEAM_OK ||
               (inspected == SIDBEAM_OK && info.pairs == *pairs && info.levels <= shape_.levels));
    return status;
  }

 private:
  arrow_column* attribute(const std::vector<Row>& rows, int32_t offset) {
    List numbers(static_cast<size_t>(offset), Value{7});
    std::vector<std::optional<std::string>> texts(static_cast<size_t>(offset), "skipped");
    for (const Row& row : rows) {
      numbers.push_back(row.has_value ? Value{5} : Value{});
      texts.push_back(row.has_value ? std::optional<std::string>("five") : std::nullopt);
    }
    const char* const format = shape_.attribute_format.c_str();
    const int32_t before = columns_.in(0, 2);
    if (shape_.attribute == Shape::kNumber) return columns_.numbers("attribute", format, numbers, before);
    if (shape_.attribute == Shape::kText) return columns_.texts("attribute", format, texts, before);
    return columns_.dictionary("attribute", format, "u", texts, before);
  }

  std::vector<arrow_column*> sids(const std::vector<Row>& rows, Fault fault, size_t at, int32_t offset) {
    std::vector<std::optional<List>> lists(static_cast<size_t>(offset),
                                           List(static_cast<size_t>(shape_.levels), Value{0}));
    std::vector<int64_t> ends;
    for (int32_t i = 0; i < offset; ++i) ends.push_back(i + 1);
    for (size_t i = 0; i < rows.size(); ++i) {
      for (size_t k = 0; k < rows[i].sids.size(); ++k)
        lists.push_back(list_of(columns_, shape_, rows[i].sids[k], i == at && k == 0 ? fault : kNone));
      ends.push_back(static_cast<int64_t>(lists.size()));
    }
    if (shape_.by_level) return levels(lists);
    arrow_column* const inner = columns_.lists("sid", shape_.list, shape_.code.c_str(), lists, columns_.in(0, 2));
    return {shape_.nested ? columns_.nested("sid", ends, inner) : inner};
  }

  std::vector<arrow_column*> levels(const std::vector<std::optional<List>>& lists) {
    std::vector<arrow_column*> all;
    for (size_t l = 0; l < static_cast<size_t>(shape_.levels); ++l) {
      List codes;
      for (const auto& list : lists) codes.push_back((*list)[l]);
      all.push_back(
          columns_.numbers(("level " + std::to_string(l)).c_str(), shape_.code.c_str(), codes, columns_.in(0, 2)));
    }
    return all;
  }

  Columns& columns_;
  const Shape& shape_;
  std::vector<arrow_column*> batches_;
  arrow_column* schema_ = nullptr;
  arrow_source source_ = {};
};

Handle<sidbeam_builder> new_builder(const Shape& shape) {
  sidbeam_builder_config config = SIDBEAM_BUILDER_CONFIG_INIT;
  sidbeam_builder* builder = nullptr;
  config.levels = shape.levels;
  config.codes = shape.codes.data();
  config.variable_length = shape.variable ? 1 : 0;
  config.id_type = shape.named ? SIDBEAM_ID_STRING : shape.unsigned_ids ? SIDBEAM_ID_U64 : SIDBEAM_ID_I64;
  FUZZ_CHECK(sidbeam_builder_create(fuzz::runtime(), &config, &builder, nullptr) == SIDBEAM_OK);
  if (shape.attribute != Shape::kNoAttribute)
    FUZZ_CHECK(sidbeam_builder_declare_attribute(builder, "attribute", shape.attribute_type(), nullptr) == SIDBEAM_OK);
  return Handle<sidbeam_builder>(builder);
}

// Fives, as a number and as text, in the rows that have a value.
void set_attribute(sidbeam_builder* builder, const std::vector<uint8_t>& valid) {
  const std::vector<int64_t> fives(valid.size(), 5), zeros(valid.size(), 0), offsets{0, 4};
  const std::vector<float> numbers(valid.size(), 5);
  sidbeam_attribute_column column = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  column.name = "attribute";
  column.valid = valid.data();
  column.integers = fives.data();
  column.numbers = numbers.data();
  column.text = "five";
  column.offsets = offsets.data();
  column.codes = zeros.data();
  column.string_count = 1;
  FUZZ_CHECK(sidbeam_builder_set_attribute(builder, &column, static_cast<int64_t>(valid.size()), nullptr) ==
             SIDBEAM_OK);
}

// The same rows, by the call that takes plain arrays.
void add_plainly(sidbeam_builder* builder, const Shape& shape, const std::vector<Row>& rows) {
  std::vector<int32_t> codes, lengths;
  std::vector<int64_t> ids, priorities, offsets{0};
  std::string names;
  std::vector<uint8_t> valid;
  for (const Row& row : rows) {
    for (const std::vector<int32_t>& sid : row.sids) {
      codes.insert(codes.end(), sid.begin(), sid.end());
      codes.resize(codes.size() + static_cast<size_t>(shape.levels) - sid.size(), -1);
      lengths.push_back(static_cast<int32_t>(sid.size()));
      ids.push_back(row.id);
      priorities.push_back(row.priority);
      valid.push_back(row.has_value ? 1 : 0);
      names += row.name;
      offsets.push_back(static_cast<int64_t>(names.size()));
    }
  }
  const auto count = static_cast<int64_t>(lengths.size());
  const int64_t* const ranks = shape.has_priorities ? priorities.data() : nullptr;
  const sidbeam_status status = shape.named
                                    ? sidbeam_builder_add_named(builder, codes.data(), lengths.data(), count,
                                                                names.data(), offsets.data(), ranks, nullptr)
                                    : sidbeam_builder_add(builder, codes.data(), lengths.data(), count,
                                                          shape.has_items ? ids.data() : nullptr, ranks, nullptr);
  FUZZ_CHECK(status == SIDBEAM_OK);
  if (shape.attribute != Shape::kNoAttribute) set_attribute(builder, valid);
}

std::vector<uint8_t> bytes_of(sidbeam_builder* builder) {
  sidbeam_index* index = nullptr;
  const void* data = nullptr;
  int64_t bytes = 0;
  FUZZ_CHECK(sidbeam_builder_finish(builder, &index, nullptr) == SIDBEAM_OK);
  const Handle<sidbeam_index> held(index);
  FUZZ_CHECK(sidbeam_index_bytes(index, &data, &bytes, nullptr) == SIDBEAM_OK);
  const auto* const first = static_cast<const uint8_t*>(data);
  return {first, first + bytes};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FuzzedDataProvider input(data, size);
  Columns columns(input);
  const Shape shape = draw_shape(columns);
  Stream stream(columns, shape);
  const std::vector<Row> first{draw_row(columns, shape)};  // what the builder has before
  std::vector<Row> rows = first;
  int64_t pairs = 0;
  Fault fault = columns.one_in(3) ? static_cast<Fault>(columns.in(1, kFaults - 1)) : kNone;
  if (!fits(shape, fault)) fault = kNone;
  const int32_t batches = columns.in(1, 3);
  for (int32_t i = 0; i < batches; ++i) {
    std::vector<Row> batch;
    for (int32_t k = columns.in(i == 0 ? 1 : 0, 6); k > 0; --k) batch.push_back(draw_row(columns, shape));
    const size_t at = batch.empty() ? 0 : static_cast<size_t>(columns.in(0, static_cast<int32_t>(batch.size()) - 1));
    stream.add(stream.batch(batch, i == 0 ? fault : kNone, at));
    for (const Row& row : batch) pairs += static_cast<int64_t>(row.sids.size());
    rows.insert(rows.end(), batch.begin(), batch.end());
  }
  const bool spoilt = columns.one_in(3);
  if (spoilt) columns.spoil(stream.any());

  sidbeam_error err = SIDBEAM_ERROR_INIT;
  int64_t added = -1;
  const Handle<sidbeam_builder> builder = new_builder(shape), plain = new_builder(shape);
  add_plainly(builder.get(), shape, first);
  const sidbeam_status status = stream.give(builder.get(), &added, &err);
  // A damaged name may be that of an attribute, which comes too late after an add.
  const bool refused = status == SIDBEAM_INVALID_ARGUMENT || (spoilt && status == SIDBEAM_BAD_STATE);
  FUZZ_CHECK(status == SIDBEAM_OK || (refused && fuzz::is_line(err.message)));
  FUZZ_CHECK(spoilt || (status == SIDBEAM_OK) == (fault == kNone));
  if (status != SIDBEAM_OK) {
    add_plainly(plain.get(), shape, first);
    FUZZ_CHECK(added == -1 && bytes_of(builder.get()) == bytes_of(plain.get()));
  } else if (!spoilt) {
    add_plainly(plain.get(), shape, rows);
    FUZZ_CHECK(added == pairs && bytes_of(builder.get()) == bytes_of(plain.get()));
  } else {
    // Attributes that were spoilt may differ between pairs that merge.
    sidbeam_index* index = nullptr;
    const sidbeam_status finished = sidbeam_builder_finish(builder.get(), &index, nullptr);
    FUZZ_CHECK(finished == SIDBEAM_OK || shape.attribute != Shape::kNoAttribute);
    sidbeam_index_release(index);
  }
  return 0;
}
