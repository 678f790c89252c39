// SPDX-License-Identifier: Apache-2.0
#include "index/live/publication.h"

#include <string>
#include <utility>

#include "schemas/live_generated.h"
#include "support/error.h"

namespace sidbeam {
namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;
template <class T>
using Vector = flatbuffers::Vector<T>;

// One change under construction.
struct ChangeWriter {
  // Throws unless another array fits.
  void need(uint64_t bytes) const {
    if (builder.GetSize() + bytes > static_cast<uint64_t>(kMostPublicationBytes))
      fail(SIDBEAM_INVALID_ARGUMENT, "what is to be changed takes more than 2 GiB: divide it, and publish in between");
  }
  template <class T>
  Offset<Vector<T>> vector(const T* values, int64_t count) {
    need(static_cast<uint64_t>(count) * sizeof(T));
    return values != nullptr ? builder.CreateVector(values, static_cast<size_t>(count)) : Offset<Vector<T>>();
  }
  // Values that may be anything where is_read(i) is false, and are 0 in the log there.
  template <class T, class IsRead>
  Offset<Vector<T>> vector_where(const T* values, int64_t count, const IsRead& is_read) {
    if (values == nullptr) return {};
    need(static_cast<uint64_t>(count) * sizeof(T));
    std::vector<T> read(static_cast<size_t>(count));
    for (size_t i = 0; i < read.size(); ++i)
      if (is_read(static_cast<int64_t>(i))) read[i] = values[i];
    return vector(read.data(), count);
  }
  Offset<Vector<uint8_t>> text(const char* bytes, int64_t count) {
    return vector(reinterpret_cast<const uint8_t*>(count > 0 ? bytes : ""), count);
  }
  // Strings of text from its first one on: it may be a piece of a larger one.
  std::pair<Offset<Vector<int64_t>>, Offset<Vector<uint8_t>>> strings(const int64_t* offsets, int64_t count,
                                                                      const char* bytes) {
    need(static_cast<uint64_t>(count + 1) * sizeof(int64_t));
    std::vector<int64_t> begins(static_cast<size_t>(count) + 1);
    for (size_t i = 0; count > 0 && i < begins.size(); ++i) begins[i] = offsets[i] - offsets[0];
    const auto begins_at = vector(begins.data(), count + 1);
    return {begins_at, text(count > 0 ? bytes + offsets[0] : "", begins.back())};
  }
  Offset<format::LiveColumn> column(const sidbeam_attribute_column& from, AttributeType type, int64_t count);
  Offset<format::Ids> ids(const Catalogue::Pairs& pairs);
  std::vector<uint8_t> finish(Offset<format::Change> change) {
    builder.Finish(change);
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
  }

  FlatBufferBuilder builder;
};

// Of the arrays of values those that the type needs, and of them what is read; the rest may be anything.
Offset<format::LiveColumn> ChangeWriter::column(const sidbeam_attribute_column& from, AttributeType type,
                                                int64_t count) {
  std::vector<uint8_t> bits;
  for (int64_t i = 0; from.valid_bits != nullptr && i < count; ++i) bits.push_back(from.valid_bits[i / 8] >> i % 8 & 1);
  const uint8_t* const valid = from.valid_bits != nullptr ? bits.data() : from.valid;
  const auto is_valid = [&](int64_t i) { return valid == nullptr || valid[i] != 0; };
  const bool has_lists = type == AttributeType::kStringList;
  const auto name = builder.CreateString(from.name);
  const auto valid_at = vector(valid, count);
  const auto integers = vector_where(type == AttributeType::kI64 ? from.integers : nullptr, count, is_valid);
  const auto numbers = vector_where(type == AttributeType::kF32 ? from.numbers : nullptr, count, is_valid);
  const auto bools = vector_where(type == AttributeType::kBool ? from.bools : nullptr, count, is_valid);
  if (!has_dictionary(type)) return format::CreateLiveColumn(builder, name, valid_at, integers, numbers, bools);
  const int64_t values = has_lists ? from.lists[count] : count;
  const int64_t strings = from.codes != nullptr ? from.string_count : values;
  const auto lists = vector(has_lists ? from.lists : nullptr, count + 1);
  const auto codes = vector_where(from.codes, values, [&](int64_t i) { return has_lists || is_valid(i); });
  const auto [offsets, bytes] = this->strings(from.offsets, strings, from.text);
  return format::CreateLiveColumn(builder, name, valid_at, integers, numbers, bools, lists, codes, offsets, bytes);
}

Offset<format::Ids> ChangeWriter::ids(const Catalogue::Pairs& pairs) {
  if (pairs.ids != nullptr) return format::CreateIds(builder, vector(pairs.ids, pairs.count));
  const auto [offsets_at, names] = strings(pairs.id_offsets, pairs.count, pairs.id_bytes);
  return format::CreateIds(builder, 0, offsets_at, names);
}

}  // namespace

std::vector<uint8_t> write_addition(const Index& base, const Catalogue::Pairs& pairs,
                                    std::span<const sidbeam_attribute_column* const> attributes) {
  ChangeWriter writer;
  std::vector<Offset<format::LiveColumn>> columns;
  for (const sidbeam_attribute_column* column : attributes)
    columns.push_back(writer.column(*column, find_attribute(base.attributes, column->name)->type, pairs.count));
  const auto columns_at =
      columns.empty() ? Offset<Vector<Offset<format::LiveColumn>>>() : writer.builder.CreateVector(columns);
  const int64_t levels = base.view.levels;
  const auto codes = writer.vector_where(pairs.codes, pairs.count * levels, [&](int64_t i) {
    return pairs.lengths == nullptr || i % levels < pairs.lengths[i / levels];
  });
  const auto lengths = writer.vector(pairs.lengths, pairs.count);
  const auto ids = writer.ids(pairs);
  const auto priorities = writer.vector(pairs.priorities, pairs.count);
  const auto addition =
      format::CreateAddition(writer.builder, pairs.count, codes, lengths, ids, priorities, columns_at);
  return writer.finish(format::CreateChange(writer.builder, addition));
}

std::vector<uint8_t> write_removal(const IndexView& base, std::span<const ItemId> removed) {
  ChangeWriter writer;
  Offset<format::Ids> ids;
  if (base.id_type == IdType::kString) {
    std::vector<int64_t> offsets = {0};
    std::string names;
    for (const ItemId& id : removed) {
      names += id.name;
      offsets.push_back(std::ssize(names));
    }
    const auto offsets_at = writer.vector(offsets.data(), std::ssize(offsets));
    const auto names_at = writer.text(names.data(), std::ssize(names));
    ids = format::CreateIds(writer.builder, 0, offsets_at, names_at);
  } else {
    std::vector<int64_t> numbers;
    for (const ItemId& id : removed) numbers.push_back(id.number);
    ids = format::CreateIds(writer.builder, writer.vector(numbers.data(), std::ssize(numbers)));
  }
  const auto removal = format::CreateRemoval(writer.builder, ids);
  return writer.finish(format::CreateChange(writer.builder, 0, removal));
}

int64_t recorded_bytes(std::span<const std::vector<uint8_t>> changes) {
  int64_t bytes = 0;
  for (const std::vector<uint8_t>& change : changes) bytes += std::ssize(change) + kChangeOverhead;
  return bytes;
}

std::vector<uint8_t> write_publication(const PublicationInfo& info, std::span<const std::vector<uint8_t>> changes,
                                       std::span<const uint64_t> toggled) {
  const int64_t bytes = recorded_bytes(changes) + std::ssize(toggled) * int64_t{sizeof(uint64_t)};
  if (bytes > kMostPublicationBytes)
    fail(SIDBEAM_UNSUPPORTED, "what version %lld changes would take %lld bytes of the log, more than 2 GiB",
         static_cast<long long>(info.version), static_cast<long long>(bytes));
  FlatBufferBuilder builder;
  std::vector<Offset<format::ChangeBytes>> all;
  for (const std::vector<uint8_t>& change : changes) {
    builder.ForceVectorAlignment(change.size(), 1, alignof(int64_t));
    all.push_back(format::CreateChangeBytes(builder, builder.CreateVector(change)));
  }
  const auto changes_at = info.back_to != 0 ? 0 : builder.CreateVector(all);
  const auto toggled_at = info.back_to != 0 ? builder.CreateVector(toggled.data(), toggled.size()) : 0;
  format::FinishPublicationBuffer(builder, format::CreatePublication(builder, info.version, info.nanoseconds,
                                                                     changes_at, info.back_to, toggled_at));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
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
  if (count > 0) store.add(pairs, attributes);
}

void apply_removal(const format::Removal& from, const IndexView& base, PairStore& store) {
  if (from.ids() == nullptr) corrupt("a removal without ids");
  std::vector<ItemId> ids;
  if (base.id_type != IdType::kString) {
    if (from.ids()->numbers() == nullptr) corrupt("a removal without ids");
    for (const int64_t number : *from.ids()->numbers()) ids.push_back({number, {}});
  } else {
    const auto* offsets = from.ids()->name_offsets();
    if (offsets == nullptr || offsets->size() == 0) corrupt("a removal without names");
    const uint64_t count = offsets->size() - 1;
    const int64_t* begins = text_offsets(offsets, count, size_of(from.ids()->names()), "the names of a removal");
    const char* names = text_of(from.ids()->names());
    for (uint64_t i = 0; i < count; ++i)
      ids.push_back({0, {names + begins[i], static_cast<size_t>(begins[i + 1] - begins[i])}});
  }
  store.remove(ids);
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

void apply_change(const format::ChangeBytes& bytes, const IndexView& base, PairStore& store) {
  if (bytes.bytes() == nullptr) corrupt("a change that is none");
  const auto& change = root_of<format::Change>({bytes.bytes()->data(), bytes.bytes()->size()}, nullptr);
  if ((change.addition() != nullptr) == (change.removal() != nullptr)) corrupt("a change that is none");
  if (change.addition() != nullptr) apply_addition(*change.addition(), base, store);
  if (change.removal() != nullptr) apply_removal(*change.removal(), base, store);
}

}  // namespace

PublicationInfo apply_publication(std::span<const uint8_t> payload, const IndexView& base, PairStore& store) {
  const auto& from = root_of<format::Publication>(payload, format::PublicationIdentifier());
  if ((from.changes() != nullptr) == (from.back_to() != 0)) corrupt("it goes back and has changes, or neither");
  if (from.changes() != nullptr)
    for (const format::ChangeBytes* change : *from.changes()) apply_change(*change, base, store);
  if (from.toggled() != nullptr) {
    for (const uint64_t row : *from.toggled())
      if (row >= store.rows()) corrupt("an item row that is not there");
    store.toggle(*from.toggled());
  }
  return {from.version(), from.nanoseconds(), from.back_to()};
}

}  // namespace sidbeam
