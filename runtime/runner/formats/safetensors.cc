// SPDX-License-Identifier: Apache-2.0
#include "runner/formats/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runner/formats/json.h"
#include "support/error.h"

namespace sidbeam::runner {
namespace {

constexpr uint64_t kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr size_t kMostDimensions = 8;
constexpr std::string_view kLfsPointer = "version https://git-lfs";  // what a clone without Git LFS has

struct Type {
  const char* name;
  int bits;  // of an element; 0: unknown
  StoredType stored;
};
constexpr Type kTypes[] = {
    {"F32", 32, StoredType::kF32},      {"F16", 16, StoredType::kF16},      {"BF16", 16, StoredType::kBf16},
    {"BOOL", 8, StoredType::kOther},    {"U8", 8, StoredType::kOther},      {"I8", 8, StoredType::kOther},
    {"F8_E5M2", 8, StoredType::kOther}, {"F8_E4M3", 8, StoredType::kOther}, {"F8_E8M0", 8, StoredType::kOther},
    {"I16", 16, StoredType::kOther},    {"U16", 16, StoredType::kOther},    {"I32", 32, StoredType::kOther},
    {"U32", 32, StoredType::kOther},    {"F64", 64, StoredType::kF64},      {"I64", 64, StoredType::kOther},
    {"U64", 64, StoredType::kOther},    {"C64", 64, StoredType::kOther},    {"F4", 4, StoredType::kOther},
    {"F6_E2M3", 6, StoredType::kOther}, {"F6_E3M2", 6, StoredType::kOther}, {"", 0, StoredType::kOther},
};
constexpr uint8_t kUnknownType = std::size(kTypes) - 1;

uint8_t find_type(std::string_view name) {
  for (uint8_t i = 0; i < kUnknownType; ++i)
    if (name == kTypes[i].name) return i;
  return kUnknownType;
}

}  // namespace

// Fills the table from the header's events. Depth 1 holds names, depth 2 a tensor's fields, depth 3 their numbers.
class HeaderReader : public JsonEvents {
 public:
  HeaderReader(const char* path, Safetensors& table) : path_(path), table_(table) {}

  void begin(JsonKind kind) override {
    ++depth_;
    const bool object = kind == JsonKind::kObject;
    if (depth_ == 1 && !object) fail(SIDBEAM_CORRUPT, "'%.300s' has a header that is not an object", path_);
    if (depth_ == 2 && !object) refuse("an array", "an object");
    if (depth_ == 3 && (object || field_ == Field::kType || in_metadata_))
      refuse(name_of(kind), in_metadata_ ? "strings" : expected());
    if (depth_ == 4) refuse(name_of(kind), "an integer");
  }
  void end() override {
    if (depth_ == 3) finish_list();
    if (depth_ == 2 && !in_metadata_) finish_entry();
    if (depth_ == 2) in_metadata_ = false;
    --depth_;
  }
  void key(std::string_view name) override {
    if (depth_ == 1)
      start_entry(name);
    else if (!in_metadata_)
      start_field(name);
  }
  void scalar(const JsonScalar& value) override {
    if (depth_ == 0) fail(SIDBEAM_CORRUPT, "'%.300s' has a header that is not an object", path_);
    if (depth_ == 1) refuse(name_of(value.kind), "an object");
    if (in_metadata_) {
      if (value.kind != JsonKind::kText) refuse(name_of(value.kind), "strings");
    } else if (depth_ == 2) {
      if (field_ != Field::kType || value.kind != JsonKind::kText) refuse(name_of(value.kind), expected());
      entry_.type = find_type(value.text);
      entry_.type_at = static_cast<uint32_t>(table_.text_.size());
      entry_.type_size = static_cast<uint32_t>(value.text.size());
      table_.text_.append(value.text);
    } else {
      take_number(value);
    }
  }

 private:
  enum class Field : uint8_t { kType = 1, kShape = 2, kOffsets = 4 };

  [[noreturn]] void refuse(const char* came, const char* expected) const {
    fail(SIDBEAM_CORRUPT, "tensor '%.200s' of '%.200s' has %s in its header, expected %s", label(), path_, came,
         expected);
  }
  const char* label() const { return in_metadata_ ? "__metadata__" : label_.c_str(); }
  const char* expected() const {
    if (field_ == Field::kType) return "a string as dtype";
    return field_ == Field::kShape ? "a shape of integers" : "two data_offsets";
  }

  void start_entry(std::string_view name) {
    if (name == "__metadata__") {
      if (had_metadata_) refuse("__metadata__ twice", "it once");
      in_metadata_ = had_metadata_ = true;
      return;
    }
    label_ = name.substr(0, 200);
    entry_ = {};
    fields_ = 0;
    entry_.name_at = static_cast<uint32_t>(table_.text_.size());
    entry_.name_size = static_cast<uint32_t>(name.size());
    table_.text_.append(name);
  }
  void start_field(std::string_view name) {
    if (name == "dtype")
      field_ = Field::kType;
    else if (name == "shape")
      field_ = Field::kShape;
    else if (name == "data_offsets")
      field_ = Field::kOffsets;
    else
      refuse("another field", "dtype, shape and data_offsets");
    const auto bit = static_cast<uint8_t>(field_);
    if ((fields_ & bit) != 0) refuse("a field twice", "dtype, shape and data_offsets once");
    fields_ |= bit;
    numbers_ = 0;
    if (field_ == Field::kShape) entry_.shape_at = static_cast<uint32_t>(table_.shapes_.size());
  }
  void take_number(const JsonScalar& value) {
    if (value.kind != JsonKind::kInteger || value.integer < 0) refuse("something else", expected());
    if (field_ == Field::kShape) {
      if (numbers_ == kMostDimensions) refuse("more than 8 dimensions", "at most 8");
      table_.shapes_.push_back(value.integer);
    } else {
      if (numbers_ == 2) refuse("more than two data_offsets", "two");
      (numbers_ == 0 ? entry_.begin : entry_.end) = value.integer;
    }
    ++numbers_;
  }
  void finish_list() {
    if (field_ == Field::kShape) entry_.rank = static_cast<uint8_t>(numbers_);
    if (field_ == Field::kOffsets && numbers_ != 2) refuse("less than two data_offsets", "two");
  }
  void finish_entry() {
    if (fields_ != 7) refuse("too few fields", "dtype, shape and data_offsets");
    table_.entries_.push_back(entry_);
  }

  const char* path_;
  Safetensors& table_;
  std::string label_;
  Safetensors::Entry entry_;
  size_t numbers_ = 0;
  int depth_ = 0;
  uint8_t fields_ = 0;
  Field field_ = Field::kType;
  bool in_metadata_ = false, had_metadata_ = false;
};

int64_t Safetensors::head_bytes(std::span<const uint8_t> first, int64_t file_bytes) {
  uint64_t length = 0;
  if (first.size() < sizeof length) return file_bytes;
  std::memcpy(&length, first.data(), sizeof length);
  // What is no safetensors file may be a pointer of Git LFS.
  if (length > kMostHeaderBytes) return std::min(file_bytes, static_cast<int64_t>(kLfsPointer.size()));
  return std::min(file_bytes, kLengthBytes + static_cast<int64_t>(length));
}

Safetensors::Safetensors(const char* path, std::span<const uint8_t> head, int64_t file_bytes) {
  uint64_t length = 0;
  if (head.size() < sizeof length)
    fail(SIDBEAM_CORRUPT, "'%.300s' has %lld bytes, expected a safetensors file", path,
         static_cast<long long>(head.size()));
  std::memcpy(&length, head.data(), sizeof length);
  if (head.size() >= kLfsPointer.size() && std::memcmp(head.data(), kLfsPointer.data(), kLfsPointer.size()) == 0)
    fail(SIDBEAM_CORRUPT, "'%.300s' is a pointer of Git LFS, expected the file that it stands for: git lfs pull", path);
  if (length > kMostHeaderBytes)
    fail(SIDBEAM_CORRUPT, "'%.300s' has %llu bytes of header, expected at most %llu: not a safetensors file", path,
         static_cast<unsigned long long>(length), static_cast<unsigned long long>(kMostHeaderBytes));
  if (length > head.size() - sizeof length)
    fail(SIDBEAM_CORRUPT,
         "'%.300s' has %lld bytes, expected %lld or more, of which %lld are its header: it is truncated, or not a "
         "safetensors file",
         path, static_cast<long long>(file_bytes), static_cast<long long>(sizeof length + length),
         static_cast<long long>(length));
  const std::string_view header(reinterpret_cast<const char*>(head.data()) + sizeof length, length);
  if (header.empty() || header[0] != '{')
    fail(SIDBEAM_CORRUPT, "'%.300s' has a header that is not an object: not a safetensors file", path);
  data_at_ = static_cast<int64_t>(sizeof length + length);
  data_bytes_ = file_bytes - data_at_;
  HeaderReader reader(path, *this);
  read_json(path, header, reader);
  check_end(path);
  for (const Entry& entry : entries_) check_size(path, entry);
  check_tiling(path);
  sort_names(path);
}

// A download that broke off is the commonest damage.
void Safetensors::check_end(const char* path) const {
  int64_t end = 0;
  for (const Entry& entry : entries_) end = std::max(end, entry.end);
  if (end <= data_bytes_) return;
  int64_t expected = 0;
  if (__builtin_add_overflow(data_at_, end, &expected)) expected = std::numeric_limits<int64_t>::max();
  fail(SIDBEAM_CORRUPT, "'%.300s' has %lld bytes, expected %lld as its header says: it is truncated", path,
       static_cast<long long>(data_at_ + data_bytes_), static_cast<long long>(expected));
}

void Safetensors::check_size(const char* path, const Entry& entry) const {
  const int size = static_cast<int>(std::min<uint32_t>(entry.name_size, 200));
  const char* label = text_.data() + entry.name_at;
  if (entry.begin > entry.end)
    fail(SIDBEAM_CORRUPT, "tensor '%.*s' of '%.200s' has data_offsets [%lld, %lld], expected them rising", size, label,
         path, static_cast<long long>(entry.begin), static_cast<long long>(entry.end));
  int64_t elements = 1;
  for (const int64_t dimension : shape(entry))
    if (__builtin_mul_overflow(elements, dimension, &elements))
      fail(SIDBEAM_CORRUPT, "tensor '%.*s' of '%.200s' has shape %s, which has too many elements", size, label, path,
           format_shape(shape(entry)).c_str());
  if (entry.type == kUnknownType) return;
  int64_t bits = 0;
  if (__builtin_mul_overflow(elements, kTypes[entry.type].bits, &bits) || bits % 8 != 0 ||
      bits / 8 != entry.end - entry.begin)
    fail(SIDBEAM_CORRUPT, "tensor '%.*s' of '%.200s' has %lld bytes, unlike %s %s", size, label, path,
         static_cast<long long>(entry.end - entry.begin), kTypes[entry.type].name, format_shape(shape(entry)).c_str());
}

void Safetensors::check_tiling(const char* path) const {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  ranges.reserve(entries_.size());
  for (const Entry& entry : entries_) ranges.emplace_back(entry.begin, entry.end);
  std::sort(ranges.begin(), ranges.end());
  int64_t at = 0;
  for (const auto& [begin, end] : ranges) {
    if (begin != at)
      fail(SIDBEAM_CORRUPT, "'%.300s' has %s at byte %lld of its data: a tensor begins at %lld, expected %lld", path,
           begin < at ? "an overlap" : "a hole", static_cast<long long>(std::min(begin, at)),
           static_cast<long long>(begin), static_cast<long long>(at));
    at = end;
  }
  if (at != data_bytes_)
    fail(SIDBEAM_CORRUPT, "'%.300s' has %lld bytes of data, expected the %lld of its tensors", path,
         static_cast<long long>(data_bytes_), static_cast<long long>(at));
}

void Safetensors::sort_names(const char* path) {
  std::sort(entries_.begin(), entries_.end(), [&](const Entry& a, const Entry& b) { return name(a) < name(b); });
  const auto twice = std::adjacent_find(entries_.begin(), entries_.end(),
                                        [&](const Entry& a, const Entry& b) { return name(a) == name(b); });
  if (twice != entries_.end())
    fail(SIDBEAM_CORRUPT, "'%.300s' has tensor '%.200s' twice", path, std::string(name(*twice)).c_str());
}

StoredTensor Safetensors::at(int64_t i) const {
  const Entry& entry = entries_[static_cast<size_t>(i)];
  return {name(entry),  kTypes[entry.type].stored, type(entry),
          shape(entry), data_at_ + entry.begin,    entry.end - entry.begin};
}

int64_t Safetensors::find(std::string_view name) const {
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), name,
                       [&](const Entry& entry, std::string_view wanted) { return this->name(entry) < wanted; });
  return at != entries_.end() && this->name(*at) == name ? at - entries_.begin() : -1;
}

std::string format_shape(std::span<const int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace sidbeam::runner
