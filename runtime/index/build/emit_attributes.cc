// SPDX-License-Identifier: Apache-2.0
#include "index/build/emit_attributes.h"

#include <algorithm>
#include <cstring>

#include "index/attributes/sections.h"
#include "index/build/uint_out.h"
#include "support/parallel.h"

namespace sidbeam {
namespace {

constexpr int64_t kReported = int64_t{1} << 16;  // rows

template <class T>
T* writable(const T* section) {
  return const_cast<T*>(section);
}
UintOut writable(const UintArray& array) {
  return {static_cast<uint8_t*>(const_cast<void*>(array.data)), static_cast<uint64_t>(array.width)};
}

struct AttributeEmission {
  const AttributeColumn& column;
  const AttributeScan& scan;
  const SortedCatalogue& sorted;
  Attribute view;
  Progress& progress;

  // Calls visit(item, row) for every item, row -1 where it has no value.
  template <class Visit>
  void each(const Visit& visit) const {
    for (int64_t item = 0; item < sorted.items; ++item) {
      const auto row = static_cast<int64_t>(sorted.rows[item]);
      visit(item, column.is_null(row) ? -1 : row);
      if ((item + 1) % kReported == 0) progress.advance(kReported);
    }
    progress.advance(sorted.items % kReported);
  }
};

void set_bit(uint64_t* words, int64_t i) { words[i / 64] |= uint64_t{1} << i % 64; }

void emit_valid(const AttributeEmission& emission) {
  if (emission.view.valid == nullptr) return;
  uint64_t* const words = writable(emission.view.valid);
  const SortedCatalogue& sorted = emission.sorted;
  std::fill_n(words, divide_up(static_cast<uint64_t>(sorted.items), 64), 0);
  for (int64_t item = 0; item < sorted.items; ++item)
    if (!emission.column.is_null(static_cast<int64_t>(sorted.rows[item]))) set_bit(words, item);
}

void emit_dictionary(const AttributeEmission& emission) {
  const Dictionary& dictionary = emission.view.dictionary;
  uint64_t *const offsets = writable(dictionary.offsets), offset = 0;
  char* const text = writable(dictionary.text);
  for (uint64_t i = 0; i < dictionary.count; ++i) {
    const std::string_view string = emission.column.strings[emission.scan.dictionary[static_cast<int64_t>(i)]];
    offsets[i] = offset;
    if (!string.empty()) std::memcpy(text + offset, string.data(), string.size());
    offset += string.size();
  }
  offsets[dictionary.count] = offset;
}

void emit_lists(const AttributeEmission& emission) {
  const UintOut codes = writable(emission.view.codes), offsets = writable(emission.view.offsets);
  const AttributeColumn& column = emission.column;
  uint64_t end = 0;
  emission.each([&](int64_t item, int64_t row) {
    offsets.set(static_cast<uint64_t>(item), end);
    const int64_t size = row < 0 ? 0 : column.list_size(row);
    for (int64_t i = 0; i < size; ++i) codes.set(end++, emission.scan.numbers[column.list_string(row, i)]);
  });
  offsets.set(static_cast<uint64_t>(emission.sorted.items), end);
}

// Where there is no value, 0 is written.
void emit_attribute(const AttributeEmission& emission) {
  emit_valid(emission);
  const AttributeColumn& column = emission.column;
  switch (column.type) {
    case AttributeType::kI64:
      return emission.each([&, out = writable(emission.view.integers)](int64_t item, int64_t row) {
        out[item] = row < 0 ? 0 : column.integer(row);
      });
    case AttributeType::kF32:
      return emission.each([&, out = writable(emission.view.numbers)](int64_t item, int64_t row) {
        out[item] = row < 0 ? 0.0f : column.number(row);
      });
    case AttributeType::kBool: {
      uint64_t* const out = writable(emission.view.bools);
      std::fill_n(out, divide_up(static_cast<uint64_t>(emission.sorted.items), 64), 0);
      return emission.each([&](int64_t item, int64_t row) {
        if (row >= 0 && column.truth(row)) set_bit(out, item);
      });
    }
    case AttributeType::kString:
      emission.each([&, out = writable(emission.view.codes)](int64_t item, int64_t row) {
        out.set(static_cast<uint64_t>(item), row < 0 ? 0 : emission.scan.numbers[column.string(row)]);
      });
      break;
    case AttributeType::kStringList:
      emit_lists(emission);
      break;
  }
  emit_dictionary(emission);
}

}  // namespace

void emit_attributes(const Catalogue& catalogue, const SortedCatalogue& sorted, const std::vector<AttributeScan>& scans,
                     const FileHeader& header, uint8_t* base, int threads, Progress& progress) {
  const std::vector<AttributeColumn>& columns = catalogue.attributes.all();
  parallel_for(threads, static_cast<int64_t>(columns.size()), [&](int64_t task) {
    const auto i = static_cast<size_t>(task);
    emit_attribute({columns[i], scans[i], sorted,
                    view_of(header.attributes[i], header.sections, header.shape.items, base), progress});
  });
}

}  // namespace sidbeam
