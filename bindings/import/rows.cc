// SPDX-License-Identifier: Apache-2.0
#include "rows.h"

#include <support/half.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "failure.h"
#include "numbers.h"

namespace importer {
namespace {

int64_t element(double value) {
  if (std::isnan(value)) return RowReader::kMissing;
  return whole(value).value_or(RowReader::kFraction);
}
// 2^bits is what 2^bits + 1 would have been rounded to.
int64_t element(float value, int bits) {
  return std::abs(value) >= std::ldexp(1.0F, bits) ? RowReader::kFraction : element(double{value});
}
int64_t element(float value) { return element(value, 24); }
int64_t element(sidbeam::F16 value) { return element(sidbeam::float_of(value), 11); }
template <class T>
int64_t element(T value) {
  return static_cast<int64_t>(value);  // NOLINT(bugprone-signed-char-misuse): i1 is a number
}

template <class T>
void load(const char* from, int64_t count, bool swap, int64_t* to, int64_t stride) {
  for (int64_t i = 0; i < count; ++i) {
    char bytes[sizeof(T)];
    std::memcpy(bytes, from + i * static_cast<int64_t>(sizeof(T)), sizeof(T));
    if (swap) std::reverse(bytes, bytes + sizeof(T));
    T value;
    std::memcpy(&value, bytes, sizeof(T));
    to[i * stride] = element(value);
  }
}

using Load = void(const char*, int64_t, bool, int64_t*, int64_t);

Load* loader(const NpyArray& array) {
  struct {
    const char* dtype;
    Load* load;
  } const kLoads[] = {{"i1", load<int8_t>},       {"u1", load<uint8_t>},  {"i2", load<int16_t>}, {"u2", load<uint16_t>},
                      {"i4", load<int32_t>},      {"u4", load<uint32_t>}, {"i8", load<int64_t>}, {"u8", load<uint64_t>},
                      {"f2", load<sidbeam::F16>}, {"f4", load<float>},    {"f8", load<double>}};
  for (const auto& known : kLoads) {
    if (array.dtype.compare(1, array.dtype.npos, known.dtype) == 0) return known.load;
  }
  throw Failure("'" + array.path + "': dtype '" + array.dtype + "', expected integers");
}

}  // namespace

RowReader::RowReader(const NpyArray& array) : array_(array), columns_(array.shape.size() == 2 ? array.shape[1] : 1) {}

const int64_t* RowReader::next() {
  if (in_block_ == block_rows_) read_block();
  ++at_;
  return block_.data() + in_block_++ * columns_;
}

void RowReader::read_block() {
  constexpr int64_t kBlock = 1 << 16;  // elements, where a row has fewer
  block_rows_ = std::min(rows() - at_, std::max<int64_t>(1, kBlock / columns_));
  block_.resize(static_cast<size_t>(block_rows_ * columns_));
  in_block_ = 0;
  if (!array_.fortran) return read_strip(at_ * columns_, block_rows_ * columns_, block_.data(), 1);
  for (int64_t column = 0; column < columns_; ++column) {
    read_strip(column * rows() + at_, block_rows_, block_.data() + column, columns_);
  }
}

void RowReader::read_strip(int64_t first, int64_t count, int64_t* to, int64_t stride) {
  bytes_.resize(static_cast<size_t>(count * array_.item_bytes));
  array_.read(first, count, bytes_.data());
  loader(array_)(bytes_.data(), count, array_.dtype[0] == '>', to, stride);
}

}  // namespace importer
