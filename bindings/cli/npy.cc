// NumPy's .npy files.
// SPDX-License-Identifier: Apache-2.0
#include "npy.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "failure.h"
#include "options.h"

namespace cli {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);

[[noreturn]] void fail(const std::string& path, const std::string& what) { throw Failure("'" + path + "': " + what); }

// The text of the header's dictionary; *data_at gets where the data begins.
std::string dictionary(const InputFile& file, int64_t* data_at) {
  const std::string start = file.head(12);
  if (start.compare(0, kMagic.size(), kMagic) != 0) fail(file.path(), "not a .npy file (no NumPy magic)");
  if (start.size() < 12) fail(file.path(), "truncated .npy header");
  const int version = static_cast<unsigned char>(start[6]);
  if (version < 1 || version > 3) {
    fail(file.path(), ".npy version " + std::to_string(version) + ", expected 1, 2 or 3");
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  int64_t length = 0;
  for (size_t i = 0; i < length_bytes; ++i) length |= int64_t{static_cast<unsigned char>(start[8 + i])} << (8 * i);
  const auto begin = static_cast<int64_t>(8 + length_bytes);
  if (file.size() - begin < length) fail(file.path(), "truncated .npy header");
  *data_at = begin + length;
  return file.head(*data_at).substr(static_cast<size_t>(begin));
}

// The text after 'key': in the dictionary, without leading spaces.
std::string_view value_of(const std::string& path, std::string_view header, std::string_view key) {
  const std::string quoted = "'" + std::string(key) + "'";
  size_t at = header.find(quoted);
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
  std::string dtype(value.substr(1, end - 1));
  if (dtype[0] == '>') fail(path, "dtype '" + dtype + "' is big-endian, expected little-endian such as '<i4'");
  return dtype;
}

std::vector<int64_t> parse_shape(const std::string& path, std::string_view value) {
  const size_t end = value.find(')');
  if (value[0] != '(' || end == value.npos) fail(path, ".npy header with a 'shape' that is no tuple");
  std::vector<int64_t> shape;
  for (std::string part : split(std::string(value.substr(1, end - 1)), ',')) {
    part.erase(0, std::min(part.find_first_not_of(' '), part.size()));
    part.erase(part.find_last_not_of(" L") + 1);
    if (part.empty()) continue;
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

template <class T>
void load(const std::vector<char>& bytes, std::vector<int64_t>& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(element);  // NOLINT(bugprone-signed-char-misuse): i1 is a number
  }
}

void load_integers(const NpyArray& array, const std::vector<char>& bytes, std::vector<int64_t>& out) {
  const bool is_signed = array.dtype[1] == 'i';
  switch (array.item_bytes) {
    case 1:
      return is_signed ? load<int8_t>(bytes, out) : load<uint8_t>(bytes, out);
    case 2:
      return is_signed ? load<int16_t>(bytes, out) : load<uint16_t>(bytes, out);
    case 4:
      return is_signed ? load<int32_t>(bytes, out) : load<uint32_t>(bytes, out);
    case 8:
      return load<int64_t>(bytes, out);
    default:
      fail(array.path, "dtype '" + array.dtype + "', expected integers");
  }
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

NpyArray read_npy(const InputFile& file) {
  NpyArray array{};
  const std::string header = dictionary(file, &array.data_at);
  array.file = &file;
  array.path = file.path();
  array.dtype = parse_dtype(array.path, value_of(array.path, header, "descr"));
  if (value_of(array.path, header, "fortran_order").substr(0, 5) != "False") {
    fail(array.path, "Fortran order, expected C order (save numpy.ascontiguousarray of it)");
  }
  array.shape = parse_shape(array.path, value_of(array.path, header, "shape"));
  const auto bytes =
      parse_integer<int64_t>(std::string_view(array.dtype).substr(std::min<size_t>(2, array.dtype.size())));
  const bool known = (array.dtype[0] == '<' || array.dtype[0] == '|') && array.dtype.size() > 2 &&
                     std::string_view("iufb").find(array.dtype[1]) != std::string_view::npos;
  if (!known || !bytes || *bytes < 1 || *bytes > 8) {
    fail(array.path, "dtype '" + array.dtype + "', expected numbers such as '<i4' or '<f4'");
  }
  array.item_bytes = *bytes;
  check_size(array, file.size() - array.data_at);
  return array;
}

IntegerReader::IntegerReader(const NpyArray& array) : array_(array) {}

const int64_t* IntegerReader::next(int64_t count) {
  if (static_cast<int64_t>(block_.size() - used_) < count) read_block(count);
  const int64_t* const elements = block_.data() + used_;
  used_ += static_cast<size_t>(count);
  at_ += count;
  return elements;
}

void IntegerReader::read_block(int64_t least) {
  constexpr int64_t kBlock = 1 << 16;
  const int64_t count = std::max(least, std::min(kBlock, array_.elements() - at_));
  bytes_.resize(static_cast<size_t>(count * array_.item_bytes));
  block_.resize(static_cast<size_t>(count));
  array_.read(at_, count, bytes_.data());
  load_integers(array_, bytes_, block_);
  used_ = 0;
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

}  // namespace cli
