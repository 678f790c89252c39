// SPDX-License-Identifier: Apache-2.0
#include "columns.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

namespace fuzz::arrow {
namespace {

constexpr int64_t kUnread = 99;  // in the place of what nobody reads

template <class T>
std::vector<T> as(const List& values) {
  std::vector<T> all;
  for (const Value& value : values) all.push_back(static_cast<T>(value.value_or(kUnread)));
  return all;
}

List padded(const List& values, int32_t before) {
  List all(static_cast<size_t>(before), Value{kUnread});
  all.insert(all.end(), values.begin(), values.end());
  return all;
}

}  // namespace

arrow_column* Columns::make(const char* name, const std::string& format, int64_t length, int64_t offset) {
  arrow_column& column = columns_.emplace_back();
  column = {};
  column.name = keep(name);
  column.format = keep(format);
  column.length = length;
  column.offset = offset;
  return &column;
}

void* Columns::block(arrow_column* column, int buffer, size_t bytes) {
  std::vector<uint8_t>& memory = blocks_.emplace_back(std::max<size_t>(bytes, 1));
  column->buffers[buffer] = memory.data();
  column->bytes[buffer] = static_cast<int64_t>(bytes);
  column->buffer_count = std::max<int64_t>(column->buffer_count, buffer + 1);
  return memory.data();
}

template <class T>
void Columns::put(arrow_column* column, int buffer, const std::vector<T>& values) {
  void* const memory = block(column, buffer, values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(memory, values.data(), values.size() * sizeof(T));
}

// `valid` [offset + length]. Where all are, there may be a bitmap all the same.
void Columns::mark(arrow_column* column, const std::vector<bool>& valid) {
  const auto nulls = std::count(valid.begin() + column->offset, valid.end(), false);
  column->buffer_count = std::max<int64_t>(column->buffer_count, 1);
  if (nulls == 0 && !one_in(4)) return;
  auto* const bits = static_cast<uint8_t*>(block(column, 0, (valid.size() + 7) / 8));
  for (size_t i = 0; i < valid.size(); ++i)
    if (valid[i]) bits[i / 8] = static_cast<uint8_t>(bits[i / 8] | 1 << (i % 8));
  column->null_count = one_in(3) ? -1 : nulls;
}

arrow_column* Columns::numbers(const char* name, const char* format, const List& values, int32_t before) {
  arrow_column* const column = make(name, format, static_cast<int64_t>(values.size()), before);
  const List all = padded(values, before);
  switch (*format) {
    case 'c':
    case 'C':
      put(column, 1, as<int8_t>(all));
      break;
    case 's':
    case 'S':
      put(column, 1, as<int16_t>(all));
      break;
    case 'i':
    case 'I':
      put(column, 1, as<int32_t>(all));
      break;
    case 'f':
      put(column, 1, as<float>(all));
      break;
    case 'g':
      put(column, 1, as<double>(all));
      break;
    default:
      put(column, 1, as<int64_t>(all));
  }
  std::vector<bool> valid;
  for (const Value& value : all) valid.push_back(value.has_value());
  mark(column, valid);
  return column;
}

arrow_column* Columns::lists(const char* name, const std::string& format, const char* values_format,
                             const std::vector<std::optional<List>>& rows, int32_t before) {
  const bool fixed = format.starts_with("+w:"), view = format.starts_with("+v");
  const size_t size = fixed ? static_cast<size_t>(std::stoi(format.substr(3))) : 0;
  arrow_column* const column = make(name, format, static_cast<int64_t>(rows.size()), before);
  List elements(fixed ? size * static_cast<size_t>(before) : view ? static_cast<size_t>(in(0, 3)) : 0, Value{kUnread});
  std::vector<int64_t> starts(static_cast<size_t>(before), 0), sizes(starts);
  std::vector<bool> valid(static_cast<size_t>(before), true);
  for (const auto& row : rows) {
    starts.push_back(static_cast<int64_t>(elements.size()));
    const List codes = row.value_or(List(size, Value{}));
    sizes.push_back(static_cast<int64_t>(codes.size()));
    elements.insert(elements.end(), codes.begin(), codes.end());
    valid.push_back(row.has_value());
  }
  if (!view) starts.push_back(static_cast<int64_t>(elements.size()));
  const bool wide = format == "+L" || format == "+vL";
  const List offsets(starts.begin(), starts.end()), counts(sizes.begin(), sizes.end());
  if (!fixed && wide) put(column, 1, as<int64_t>(offsets));
  if (!fixed && !wide) put(column, 1, as<int32_t>(offsets));
  if (view && wide) put(column, 2, as<int64_t>(counts));
  if (view && !wide) put(column, 2, as<int32_t>(counts));
  mark(column, valid);
  column->children[column->child_count++] = numbers("element", values_format, elements, in(0, 2));
  return column;
}

arrow_column* Columns::nested(const char* name, const std::vector<int64_t>& ends, arrow_column* inner) {
  arrow_column* const column = make(name, "+l", static_cast<int64_t>(ends.size()), 0);
  std::vector<int32_t> offsets{0};
  for (const int64_t end : ends) offsets.push_back(static_cast<int32_t>(end));
  put(column, 1, offsets);
  mark(column, std::vector<bool>(ends.size(), true));
  column->children[column->child_count++] = inner;
  return column;
}

arrow_column* Columns::texts(const char* name, const char* format,
                             const std::vector<std::optional<std::string>>& values, int32_t before) {
  arrow_column* const column = make(name, format, static_cast<int64_t>(values.size()), before);
  std::vector<bool> valid(static_cast<size_t>(before), true);
  std::string bytes = one_in(2) ? "..." : "";
  std::vector<int64_t> offsets(static_cast<size_t>(before) + 1, static_cast<int64_t>(bytes.size()));
  std::vector<uint8_t> views(static_cast<size_t>(before) * 16);
  for (const auto& value : values) {
    const std::string text = value.value_or("");
    int32_t view[4] = {static_cast<int32_t>(text.size()), 0, 0, static_cast<int32_t>(bytes.size())};
    const size_t head = text.size() > 12 ? 4 : text.size();
    std::memcpy(reinterpret_cast<char*>(view) + 4, text.data(), head);
    views.insert(views.end(), reinterpret_cast<uint8_t*>(view), reinterpret_cast<uint8_t*>(view) + sizeof view);
    bytes += text;
    offsets.push_back(static_cast<int64_t>(bytes.size()));
    valid.push_back(value.has_value());
  }
  const std::vector<char> all(bytes.begin(), bytes.end());
  if (*format == 'v') {
    put(column, 1, views);
    put(column, 2, all);
    put(column, 3, std::vector<int64_t>{static_cast<int64_t>(all.size())});
  } else if (*format == 'U' || *format == 'Z') {
    put(column, 1, offsets);
    put(column, 2, all);
  } else {
    put(column, 1, std::vector<int32_t>(offsets.begin(), offsets.end()));
    put(column, 2, all);
  }
  mark(column, valid);
  return column;
}

arrow_column* Columns::dictionary(const char* name, const char* format, const char* values_format,
                                  const std::vector<std::optional<std::string>>& values, int32_t before) {
  std::vector<std::optional<std::string>> held{"unused"};
  List places;
  for (const auto& value : values) {
    if (value) held.push_back(value);
    places.push_back(value ? Value{static_cast<int64_t>(held.size()) - 1} : Value{});
  }
  arrow_column* const column = numbers(name, format, places, before);
  column->dictionary = texts("values", values_format, held, in(0, 2));
  return column;
}

arrow_column* Columns::batch(int64_t length, int64_t offset, const std::vector<arrow_column*>& children) {
  arrow_column* const column = make("", "+s", length, offset);
  column->buffer_count = 1;
  for (arrow_column* child : children) column->children[column->child_count++] = child;
  return column;
}

void Columns::spoil(arrow_column* column) {
  if (column->child_count > 0 && !one_in(3))
    return spoil(const_cast<arrow_column*>(column->children[in(0, static_cast<int32_t>(column->child_count) - 1)]));
  if (column->dictionary != nullptr && one_in(2)) return spoil(const_cast<arrow_column*>(column->dictionary));
  static constexpr const char* kFormats[] = {"b", "+m", "+w:x", "+w:-1", "n", "", "tdD", "+r", "+us:0"};
  const std::string_view format = column->format;
  const bool offsets = column->buffers[1] != nullptr && (format == "+l" || format == "+L" || format.starts_with("+v"));
  switch (in(0, 9)) {
    case 0:
      column->offset = -1 - column->offset;
      break;
    case 1:
      column->length = one_in(2) ? -1 : in(0, static_cast<int32_t>(column->length));  // shorter than what is there
      break;
    case 2:
      column->null_count = one_in(2) ? -2 : column->length + 1;
      break;
    case 3:
      column->buffer_count = in(0, 4);
      break;
    case 4:
      column->buffers[in(0, 1)] = nullptr;
      break;
    case 5:
      column->format = kFormats[in(0, 8)];
      break;
    case 6:
      column->name = "sid";
      break;
    case 7:
      column->dictionary = nullptr;
      break;
    default:
      if (!offsets || column->bytes[1] < 4) break;  // of lists: anything at all
      auto* const bytes = static_cast<uint8_t*>(const_cast<void*>(column->buffers[1]));
      bytes[in(0, static_cast<int32_t>(column->bytes[1]) - 1)] = input.ConsumeIntegral<uint8_t>();
  }
}

}  // namespace fuzz::arrow
