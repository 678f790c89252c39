// The contents of a section: elements that are wrong by a little, out of order, or from elsewhere.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "mutate.h"
#include "shape.h"

namespace fuzz {
namespace {

class Elements {
 public:
  explicit Elements(FileSection& section)
      : bytes_(section.bytes), width_(element_bytes(section.encoding)), count_(bytes_.size() / width_) {}

  size_t count() const { return count_; }
  uint64_t get(size_t i) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes_.data() + i * width_, width_);
    return value;
  }
  void set(size_t i, uint64_t value) { std::memcpy(bytes_.data() + i * width_, &value, width_); }

 private:
  std::vector<uint8_t>& bytes_;
  size_t width_, count_;
};

// Numbers at which something ends.
uint64_t telling_number(const IndexFile& file, const FileSection& section, Random& random) {
  const FileLevel level = section.level >= 0 && static_cast<size_t>(section.level) < file.levels.size()
                              ? file.levels[static_cast<size_t>(section.level)]
                              : (file.levels.empty() ? FileLevel() : random.pick(file.levels));
  const uint64_t numbers[] = {0,
                              level.codes,
                              level.nodes,
                              level.edges,
                              level.ends,
                              file.sids,
                              file.items,
                              0x7fff,
                              0xffff,
                              0x7fffffff,
                              0xffffffffu,
                              ~uint64_t{0},
                              uint64_t{1} << 63,
                              section.bytes.size(),
                              uint64_t{1} << 32};
  return numbers[random.below(std::size(numbers))] + random.below(3) - 1;
}

struct Span {
  size_t begin, end;
};

Span random_span(size_t count, Random& random) {
  const size_t begin = random.below(count);
  const size_t most = random.one_in(4) ? count - begin : std::min<size_t>(count - begin, 8);
  return {begin, begin + 1 + random.below(most)};
}

void reorder(Elements& elements, Random& random) {
  const Span span = random_span(elements.count(), random);
  std::vector<uint64_t> values;
  for (size_t i = span.begin; i < span.end; ++i) values.push_back(elements.get(i));
  switch (random.below(4)) {
    case 0:
      std::reverse(values.begin(), values.end());
      break;
    case 1:
      std::rotate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(random.below(values.size())),
                  values.end());
      break;
    case 2:
      std::sort(values.begin(), values.end());
      break;
    default:
      for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  }
  for (size_t i = 0; i < values.size(); ++i) elements.set(span.begin + i, values[i]);
}

void fill(const IndexFile& file, const FileSection& section, Elements& elements, Random& random) {
  const Span span = random_span(elements.count(), random);
  const uint64_t form = random.below(4), value = telling_number(file, section, random);
  for (size_t i = span.begin; i < span.end; ++i) {
    if (form == 0) elements.set(i, value);
    if (form == 1) elements.set(i, random.next());
    if (form == 2) elements.set(i, value + (i - span.begin));
    if (form == 3) elements.set(i, random.below(1 + file.sids % 4096));
  }
}

void shift(Elements& elements, Random& random) {
  const Span span = random_span(elements.count(), random);
  const uint64_t by = random.one_in(2) ? uint64_t{0} - 1 - random.skewed(3) : 1 + random.skewed(3);
  const size_t end = random.one_in(2) ? elements.count() : span.end;
  for (size_t i = span.begin; i < end; ++i) elements.set(i, elements.get(i) + by);
}

void copy_over(IndexFile& file, FileSection& section, Elements& elements, Random& random) {
  FileSection& from = random.one_in(2) ? section : random.pick(file.sections);
  const std::vector<uint8_t> copy = from.bytes;  // may be the same section
  if (copy.empty()) return;
  FileSection source;
  source.bytes = copy;
  source.encoding = from.encoding;
  const Elements others(source);
  const Span span = random_span(elements.count(), random);
  const size_t begin = random.below(others.count());
  for (size_t i = span.begin; i < span.end && begin + i - span.begin < others.count(); ++i)
    elements.set(i, others.get(begin + i - span.begin));
}

void touch_one(const IndexFile& file, const FileSection& section, Elements& elements, Random& random) {
  const size_t i = random.below(elements.count());
  switch (random.below(5)) {
    case 0:
      return elements.set(i, elements.get(random.below(elements.count())) + random.below(3) - 1);
    case 1:
      return elements.set(i, telling_number(file, section, random));
    case 2:
      return elements.set(i, elements.get(i) ^ uint64_t{1} << random.below(64));
    case 3:
      return elements.set(i, elements.get(i) + (random.one_in(2) ? 1 : ~uint64_t{0}));
    default: {
      const size_t j = random.one_in(2) ? (i + 1) % elements.count() : random.below(elements.count());
      const uint64_t value = elements.get(i);
      elements.set(i, elements.get(j));
      elements.set(j, value);
    }
  }
}

}  // namespace

void mutate_contents(IndexFile& file, Random& random, MutateBytes mutate_bytes) {
  if (file.sections.empty()) return;
  FileSection& section = random.pick(file.sections);
  Elements elements(section);
  if (elements.count() == 0) return;
  switch (random.below(10)) {
    case 0:
      return reorder(elements, random);
    case 1:
      return fill(file, section, elements, random);
    case 2:
      return shift(elements, random);
    case 3:
      return copy_over(file, section, elements, random);
    case 4: {
      std::vector<uint8_t> copy = section.bytes;
      const size_t size = mutate_bytes(copy.data(), copy.size(), copy.size());
      return static_cast<void>(std::copy_n(copy.begin(), size, section.bytes.begin()));
    }
    default:
      return touch_one(file, section, elements, random);
  }
}

}  // namespace fuzz
