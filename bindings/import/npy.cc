// NumPy's .npy files.
// SPDX-License-Identifier: Apache-2.0
#include "npy.h"

#include <algorithm>
#include <string_view>

#include "failure.h"
#include "numbers.h"

namespace importer {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

[[noreturn]] void fail(const std::string& path, const std::string& what) { throw Failure("'" + path + "': " + what); }

// The text of the header's dictionary; *data_at gets where the data begins, counted from `begin`.
std::string dictionary(const InputFile& file, const std::string& path, int64_t begin, int64_t bytes, int64_t* data_at) {
  const std::string start = file.piece(begin, std::min<int64_t>(12, bytes));
  if (start.compare(0, kMagic.size(), kMagic) != 0) fail(path, "not a .npy file (no NumPy magic)");
  if (start.size() < 12) fail(path, "truncated .npy header");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) fail(path, ".npy version " + std::to_string(version) + ", expected 1, 2 or 3");
  const size_t length_bytes = version == 1 ? 2 : 4;
  int64_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= int64_t{static_cast<unsigned char>(start[8 + i])} << (8 * i);
  const auto text_at = static_cast<int64_t>(8 + length_bytes);
  if (bytes - text_at < length) fail(path, "truncated .npy header");
  *data_at = text_at + length;
  return file.piece(begin + text_at, length);
}

// The text after 'key': in the dictionary, which has it once, without leading spaces.
std::string_view value_of(const std::string& path, std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "'";
  size_t at = header.find(quoted);
  if (at != header.npos && header.find(quoted, at + 1) != header.npos) fail(path, ".npy header with two " + quoted);
  if (at != header.npos) at = header.find_first_not_of(' ', at + quoted.size());
  if (at != header.npos && header[at] == ':') at = header.find_first_not_of(' ', at + 1);
  if (at == header.npos) fail(path, ".npy header without " + quoted);
  return header.substr(at);
}

std::string parse_dtype(const std::string& path, std::string_view value) {
  const size_t end = value.find('\'', 1);
  if (value[0] != '\'' || end == value.npos) {
    fail(path, "dtype with fields, expected one number an element, such as '<i4'");
  }
  return std::string(value.substr(1, end - 1));
}

bool parse_order(const std::string& path, std::string_view value) {
  for (const bool fortran : {false, true}) {
    const std::string_view word = fortran ? "True" : "False";
    const std::string_view after = value.substr(std::min(word.size(), value.size()), 1);
    if (value.substr(0, word.size()) == word && after.find_first_not_of(" ,}") == after.npos) return fortran;
  }
  fail(path, ".npy header with a 'fortran_order' that is neither True nor False");
}

std::vector<int64_t> parse_shape(const std::string& path, std::string_view value) {
  const size_t end = value.find(')');
  if (value[0] != '(' || end == value.npos) fail(path, ".npy header with a 'shape' that is no tuple");
  std::vector<int64_t> shape;
  const std::string extents(value.substr(1, end - 1));
  for (size_t begin = 0, comma = 0; comma < extents.size(); begin = comma + 1) {
    comma = std::min(extents.find(',', begin), extents.size());
    std::string part = extents.substr(begin, comma - begin);
    part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    part.erase(part.find_last_not_of(" L") + 1);
    if (part.empty() && comma == extents.size()) continue;
    const auto number = parse_integer<int64_t>(part);
    if (!number || *number < 0) fail(path, ".npy header with '" + part + "' in its shape");
    shape.push_back(*number);
  }
  return shape;
}

// An array with an extent of 0 has no bytes, but the bytes of one of its rows are a product of the others.
void check_size(const NpyArray& array, int64_t bytes) {
  int64_t of_parts = array.item_bytes;
  for (const int64_t extent : array.shape) {
    if (__builtin_mul_overflow(of_parts, std::max<int64_t>(1, extent), &of_parts))
      fail(array.path, "shape " + array.shape_text() + " overflows");
  }
  const int64_t expected = array.elements() * array.item_bytes;
  if (bytes == expected) return;
  fail(array.path, std::to_string(bytes) + " bytes of data, expected " + std::to_string(expected) + " for shape " +
                       array.shape_text() + " of '" + array.dtype + "'");
}

}  // namespace

int64_t NpyArray::elements() const {
  int64_t product = 1;
  for (const int64_t extent : shape) product *= extent;
  return product;
}

bool NpyArray::is_integer() const { return dtype.size() == 3 && (dtype[1] == 'i' || dtype[1] == 'u'); }

std::string text_of(const std::vector<int64_t>& shape) {
  std::string text;
  for (const int64_t extent : shape) text += (text.empty() ? "" : ", ") + std::to_string(extent);
  return "(" + text + (shape.size() == 1 ? ",)" : ")");
}

std::string NpyArray::shape_text() const { return text_of(shape); }

bool is_npy(const InputFile& file) { return file.head(static_cast<int64_t>(kMagic.size())) == kMagic; }

void NpyArray::read(int64_t first, int64_t count, void* out) const {
  file->read(data_at + first * item_bytes, out, count * item_bytes);
}

NpyArray read_any_npy(const InputFile& file, const std::string& path, int64_t begin, int64_t bytes) {
  NpyArray array{};
  const std::string header = dictionary(file, path, begin, bytes, &array.data_at);
  const int64_t data_bytes = bytes - array.data_at;
  array.data_at += begin;
  array.file = &file;
  array.path = path;
  array.dtype = parse_dtype(path, value_of(path, header, "descr"));
  array.fortran = parse_order(path, value_of(path, header, "fortran_order"));
  array.shape = parse_shape(path, value_of(path, header, "shape"));
  const std::string& dtype = array.dtype;
  const auto item = parse_integer<int64_t>(std::string_view(dtype).substr(std::min<size_t>(2, dtype.size())));
  const bool known = dtype.size() > 2 && std::string_view("<>|").find(dtype[0]) != std::string_view::npos &&
                     std::string_view("iufb").find(dtype[1]) != std::string_view::npos;
  if (!known || !item || *item < 1 || *item > 8) {
    fail(path, "dtype '" + dtype + "', expected numbers such as '<i4' or '<f4'");
  }
  array.item_bytes = *item;
  check_size(array, data_bytes);
  return array;
}

NpyArray read_npy(const InputFile& file) {
  NpyArray array = read_any_npy(file, file.path(), 0, file.size());
  if (array.dtype[0] == '>') {
    fail(array.path, "dtype '" + array.dtype + "' is big-endian, expected little-endian such as '<i4'");
  }
  if (array.fortran) {
    fail(array.path, "Fortran order, expected C order (save numpy.ascontiguousarray of it)");
  }
  return array;
}

std::string npy_header(const char* dtype, const std::vector<int64_t>& shape) {
  std::string text =
      "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': " + text_of(shape) + ", }";
  const size_t before = kMagic.size() + 4;
  text.append(63 - (before + text.size()) % 64, ' ');
  text += '\n';
  std::string header(kMagic);
  header += {'\x01', '\x00', static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return header + text;
}

}  // namespace importer
