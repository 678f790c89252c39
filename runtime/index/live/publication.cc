// SPDX-License-Identifier: Apache-2.0
#include "index/live/publication.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "index/rules/bits.h"
#include "schemas/live_generated.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <class T>
using Vector = flatbuffers::Vector<T>;

// Pairs of a store from `first` on, as a record says them.
class AdditionWriter {
 public:
  AdditionWriter(FlatBufferBuilder& builder, const Catalogue& pairs, int64_t first)
      : builder_(builder), pairs_(pairs), first_(first), count_(pairs.rows - first) {}
  Offset<format::Addition> write();

 private:
  // An array of one element per pair, or of another number, to be filled before the next call.
  template <class T>
  Offset<Vector<T>> array(int64_t count, T** out) const {
    const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
    if (builder_.GetSize() + bytes > static_cast<uint64_t>(kMostPublicationBytes))
      fail(SIDBEAM_UNSUPPORTED,
           "what is to be published takes more than 2 GiB of the log: discard it, and publish more often");
    const auto at = builder_.CreateUninitializedVector(static_cast<size_t>(count), out);
    std::fill_n(*out, count, T{});
    return at;
  }
  template <class T, class Value>
  Offset<Vector<T>> array_of(int64_t count, const Value& value) const {
    T* out = nullptr;
    const auto at = array(count, &out);
    for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(value(i));
    return at;
  }
  struct Text {
    Offset<Vector<int64_t>> offsets;
    Offset<Vector<uint8_t>> bytes;
  };
  template <class String>
  Text text(int64_t count, const String& string) const;
  Offset<format::Ids> ids() const;
  Offset<format::LiveColumn> column(const AttributeColumn& from) const;
  Offset<format::LiveColumn> strings(const AttributeColumn& from) const;

  FlatBufferBuilder& builder_;
  const Catalogue& pairs_;
  int64_t first_, count_;
};

template <class String>
AdditionWriter::Text AdditionWriter::text(int64_t count, const String& string) const {
  int64_t total = 0;
  int64_t* ends = nullptr;
  const auto offsets = array(count + 1, &ends);
  for (int64_t i = 0; i < count; ++i) ends[i + 1] = total += std::ssize(string(i));
  uint8_t* to = nullptr;
  const auto bytes = array(total, &to);
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view each = string(i);
    to = std::copy(each.begin(), each.end(), to);
  }
  return {offsets, bytes};
}

Offset<format::Ids> AdditionWriter::ids() const {
  if (pairs_.id_type != IdType::kString)
    return format::CreateIds(builder_, array_of<int64_t>(count_, [&](int64_t i) { return pairs_.ids[first_ + i]; }));
  const Text names = text(count_, [&](int64_t i) { return pairs_.names[first_ + i]; });
  return format::CreateIds(builder_, 0, names.offsets, names.bytes);
}

// Strings are numbered anew, in the order in which they come: the column may know many others.
Offset<format::LiveColumn> AdditionWriter::strings(const AttributeColumn& from) const {
  std::unordered_map<uint32_t, int64_t> numbers;
  std::vector<uint32_t> used;
  const auto number_of = [&](uint32_t string) {
    const auto [place, is_new] = numbers.try_emplace(string, std::ssize(used));
    if (is_new) used.push_back(string);
    return place->second;
  };
  std::vector<int64_t> codes, lists = {0};
  for (int64_t row = first_; row < pairs_.rows; ++row) {
    const bool is_null = from.is_null(row);
    if (from.type == AttributeType::kString) {
      codes.push_back(is_null ? 0 : number_of(from.string(row)));
    } else {
      for (int64_t i = 0; !is_null && i < from.list_size(row); ++i)
        codes.push_back(number_of(from.list_string(row, i)));
      lists.push_back(std::ssize(codes));
    }
  }
  const auto copied = [&](const std::vector<int64_t>& values) {
    return array_of<int64_t>(std::ssize(values), [&](int64_t i) { return values[static_cast<size_t>(i)]; });
  };
  const auto name = builder_.CreateString(from.name);
  const auto valid = array_of<uint8_t>(count_, [&](int64_t i) { return from.is_null(first_ + i) ? 0 : 1; });
  const auto lists_at = from.type == AttributeType::kStringList ? copied(lists) : Offset<Vector<int64_t>>();
  const auto codes_at = copied(codes);
  const Text all = text(std::ssize(used), [&](int64_t i) { return from.strings[used[static_cast<size_t>(i)]]; });
  return format::CreateLiveColumn(builder_, name, valid, 0, 0, 0, lists_at, codes_at, all.offsets, all.bytes);
}

Offset<format::LiveColumn> AdditionWriter::column(const AttributeColumn& from) const {
  if (has_dictionary(from.type)) return strings(from);
  const auto is_there = [&](int64_t i) { return !from.is_null(first_ + i); };
  const auto name = builder_.CreateString(from.name);
  const auto valid = array_of<uint8_t>(count_, [&](int64_t i) { return is_there(i) ? 1 : 0; });
  Offset<Vector<int64_t>> integers;
  Offset<Vector<float>> numbers;
  Offset<Vector<uint8_t>> bools;
  if (from.type == AttributeType::kI64)
    integers = array_of<int64_t>(count_, [&](int64_t i) { return is_there(i) ? from.integer(first_ + i) : 0; });
  if (from.type == AttributeType::kF32)
    numbers = array_of<float>(count_, [&](int64_t i) { return is_there(i) ? from.number(first_ + i) : 0.0F; });
  if (from.type == AttributeType::kBool)
    bools = array_of<uint8_t>(count_, [&](int64_t i) { return is_there(i) && from.truth(first_ + i) ? 1 : 0; });
  return format::CreateLiveColumn(builder_, name, valid, integers, numbers, bools);
}

Offset<format::Addition> AdditionWriter::write() {
  std::vector<Offset<format::LiveColumn>> columns;
  for (const AttributeColumn& each : pairs_.attributes.all())
    if (each.filled() > 0) columns.push_back(column(each));
  const auto columns_at =
      columns.empty() ? Offset<Vector<Offset<format::LiveColumn>>>() : builder_.CreateVector(columns);
  const int64_t levels = pairs_.layout.levels;
  std::vector<int32_t> lengths(static_cast<size_t>(count_));
  int32_t* codes = nullptr;
  const auto codes_at = array(count_ * levels, &codes);
  for (int64_t i = 0; i < count_; ++i) lengths[static_cast<size_t>(i)] = pairs_.sid_of(first_ + i, codes + i * levels);
  Offset<Vector<int32_t>> lengths_at;
  if (pairs_.layout.variable_length)
    lengths_at = array_of<int32_t>(count_, [&](int64_t i) { return lengths[static_cast<size_t>(i)]; });
  const auto ids_at = ids();
  Offset<Vector<int64_t>> priorities;
  if (pairs_.has_priorities)
    priorities = array_of<int64_t>(count_, [&](int64_t i) { return pairs_.priority(first_ + i); });
  return format::CreateAddition(builder_, count_, codes_at, lengths_at, ids_at, priorities, columns_at);
}

std::vector<uint8_t> finish(FlatBufferBuilder& builder, const PublicationInfo& info, Offset<format::Addition> added,
                            std::span<const uint64_t> toggled) {
  const auto bytes = builder.GetSize() + toggled.size() * sizeof(uint64_t);
  if (bytes > static_cast<uint64_t>(kMostPublicationBytes))
    fail(SIDBEAM_UNSUPPORTED, "what version %lld changes would take %llu bytes of the log, more than 2 GiB",
         static_cast<long long>(info.version), static_cast<unsigned long long>(bytes));
  const auto toggled_at =
      toggled.empty() ? Offset<Vector<uint64_t>>() : builder.CreateVector(toggled.data(), toggled.size());
  format::FinishPublicationBuffer(
      builder, format::CreatePublication(builder, info.version, info.nanoseconds, info.back_to, added, toggled_at));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

}  // namespace

std::vector<uint8_t> write_publication(const PublicationInfo& info, std::span<const uint64_t> toggled) {
  FlatBufferBuilder builder;
  return finish(builder, info, {}, toggled);
}

std::vector<uint8_t> write_publication(const PublicationInfo& info, const PairStore& store) {
  const uint64_t before = store.rows() - static_cast<uint64_t>(store.added() - store.sealed());
  std::vector<uint64_t> toggled = store.toggled();
  keep_odd(toggled);
  std::erase_if(toggled, [&](uint64_t row) { return row >= before; });
  for (uint64_t row = before; row < store.rows(); ++row)
    if (!has_bit(store.live(), row)) toggled.push_back(row);
  FlatBufferBuilder builder;
  Offset<format::Addition> added;
  if (store.added() > store.sealed()) added = AdditionWriter(builder, store.pairs(), store.sealed()).write();
  return finish(builder, info, added, toggled);
}

namespace {

[[noreturn]] void corrupt(const char* what) {
  fail(SIDBEAM_CORRUPT, "a record of the log is damaged although its checksum matches: %s", what);
}

template <class T>
const T* array(const Vector<T>* vector, uint64_t count, const char* what) {
  if (vector == nullptr) return nullptr;
  if (vector->size() != count) corrupt(what);
  return vector->data();
}

// Offsets into text that rise and end with it.
const int64_t* text_offsets(const Vector<int64_t>* offsets, uint64_t count, uint64_t bytes, const char* what) {
  const int64_t* values = array(offsets, count + 1, what);
  if (values == nullptr) return nullptr;
  for (uint64_t i = 0; i <= count; ++i)
    if (values[i] < (i == 0 ? 0 : values[i - 1])) corrupt(what);
  if (static_cast<uint64_t>(values[count]) > bytes) corrupt(what);
  return values;
}

uint64_t size_of(const Vector<uint8_t>* bytes) { return bytes != nullptr ? bytes->size() : 0; }
const char* text_of(const Vector<uint8_t>* bytes) {
  return bytes != nullptr ? reinterpret_cast<const char*>(bytes->data()) : nullptr;
}

sidbeam_attribute_column read_column(const format::LiveColumn& from, uint64_t count) {
  sidbeam_attribute_column out = SIDBEAM_ATTRIBUTE_COLUMN_INIT;
  if (from.name() == nullptr) corrupt("an attribute has no name");
  out.name = from.name()->c_str();
  out.valid = array(from.valid(), count, "the nulls of an attribute");
  out.integers = array(from.integers(), count, "the integers of an attribute");
  out.numbers = array(from.numbers(), count, "the numbers of an attribute");
  out.bools = array(from.bools(), count, "the bools of an attribute");
  out.lists = array(from.lists(), count + 1, "the lists of an attribute");
  if (from.text_offsets() == nullptr) return out;
  if (from.text_offsets()->size() == 0) corrupt("the strings of an attribute");
  const uint64_t strings = from.text_offsets()->size() - 1;
  uint64_t values = count;
  for (uint64_t i = 0; out.lists != nullptr && i <= count; ++i)
    if (out.lists[i] < (i == 0 ? 0 : out.lists[i - 1])) corrupt("the lists of an attribute");
  if (out.lists != nullptr) values = static_cast<uint64_t>(out.lists[count]);
  out.codes = array(from.codes(), values, "the codes of an attribute");
  if (out.codes == nullptr && values != strings) corrupt("the strings of an attribute");
  out.string_count = static_cast<int64_t>(strings);
  out.offsets = text_offsets(from.text_offsets(), strings, size_of(from.text()), "the strings of an attribute");
  out.text = text_of(from.text());
  return out;
}

void apply_addition(const format::Addition& from, const IndexView& base, PairStore& store) {
  if (from.count() < 0 || from.ids() == nullptr) corrupt("an addition without ids");
  const auto count = static_cast<uint64_t>(from.count());
  Catalogue::Pairs pairs;
  pairs.count = from.count();
  pairs.codes = array(from.codes(), count * static_cast<uint64_t>(base.levels), "the codes of an addition");
  pairs.lengths = array(from.lengths(), count, "the lengths of an addition");
  pairs.priorities = array(from.priorities(), count, "the priorities of an addition");
  if (base.id_type == IdType::kString) {
    pairs.id_offsets = text_offsets(from.ids()->name_offsets(), count, size_of(from.ids()->names()), "names");
    pairs.id_bytes = text_of(from.ids()->names());
  } else {
    pairs.ids = array(from.ids()->numbers(), count, "the ids of an addition");
  }
  if (count > 0 && (pairs.codes == nullptr || (pairs.ids == nullptr && pairs.id_offsets == nullptr)))
    corrupt("an addition without codes or ids");
  std::vector<sidbeam_attribute_column> columns;
  if (from.columns() != nullptr)
    for (const format::LiveColumn* column : *from.columns()) columns.push_back(read_column(*column, count));
  std::vector<const sidbeam_attribute_column*> attributes;
  for (const sidbeam_attribute_column& column : columns) attributes.push_back(&column);
  if (count > 0) store.append(pairs, attributes);
}

// A table of a buffer, found sound.
template <class T>
const T& root_of(std::span<const uint8_t> bytes, const char* identifier) {
  constexpr flatbuffers::uoffset_t kDepth = 16, kTables = 1 << 26;
  if (bytes.size() > (uint64_t{1} << 31) - 1) corrupt("it is too long");
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), kDepth, kTables);
  if (!verifier.VerifyBuffer<T>(identifier)) corrupt("its tables");
  return *flatbuffers::GetRoot<T>(bytes.data());
}

// Item rows that rise, below `rows`.
std::span<const uint64_t> rising_rows(const Vector<uint64_t>* toggled, uint64_t rows) {
  if (toggled == nullptr) return {};
  const std::span<const uint64_t> all(toggled->data(), toggled->size());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i] >= rows || (i > 0 && all[i] <= all[i - 1])) corrupt("item rows that are not there, or do not rise");
  return all;
}

}  // namespace

PublicationInfo apply_publication(std::span<const uint8_t> payload, const IndexView& base, PairStore& store) {
  const auto& from = root_of<format::Publication>(payload, format::PublicationIdentifier());
  if (from.added() != nullptr && from.back_to() != 0) corrupt("it goes back and adds");
  if (from.nanoseconds() < 0) corrupt("a time before 1970");
  if (from.added() != nullptr) apply_addition(*from.added(), base, store);
  store.toggle(rising_rows(from.toggled(), store.rows()));
  return {from.version(), from.nanoseconds(), from.back_to()};
}

}  // namespace sidbeam
