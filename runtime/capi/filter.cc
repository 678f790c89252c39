// Sets of an index's items.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/filter.h"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "capi/guard.h"
#include "decode/rules.h"
#include "index/rules/bits.h"
#include "index/rules/parse.h"
#include "index/rules/print.h"
#include "index/rules/row_sets.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

Buffer<uint64_t> bits_of(const sidbeam_index& index, const ListedRows& listed) {
  Buffer<uint64_t> bits = make_bits(index.row_count(), index.runtime->allocator);
  std::fill(bits.begin(), bits.end(), uint64_t{0});
  for (int64_t i = 0; i < listed.count; ++i) put_bit(bits.data(), listed.rows[i], true);
  return bits;
}

RowBits read_rows(const sidbeam_index& index, const sidbeam_row_set& rows) {
  const uint64_t items = index.row_count();
  const Allocator& allocator = index.runtime->allocator;
  if (rows.bytes < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.bytes is %lld, expected at least 0", static_cast<long long>(rows.bytes));
  if (rows.bytes > 0) require(rows.data, "rows.data");
  if (rows.offset < 0 || (rows.offset > 0 && rows.encoding != SIDBEAM_ROWS_BITS))
    fail(SIDBEAM_INVALID_ARGUMENT, "rows.offset is %lld, expected %s", static_cast<long long>(rows.offset),
         rows.encoding == SIDBEAM_ROWS_BITS ? "at least 0" : "0, since the rows are no bits");
  const std::span<const uint8_t> data(static_cast<const uint8_t*>(rows.data), static_cast<size_t>(rows.bytes));
  switch (rows.encoding) {
    case SIDBEAM_ROWS_BITS:
      return rows_from_bits(data, static_cast<uint64_t>(rows.offset), items, items, allocator);
    case SIDBEAM_ROWS_BYTES:
      return rows_from_bytes(data, items, allocator);
    case SIDBEAM_ROWS_ROARING:
      return rows_from_roaring(data, items, allocator);
    default:
      fail(SIDBEAM_INVALID_ARGUMENT, "rows.encoding is %d, expected SIDBEAM_ROWS_BITS, BYTES or ROARING",
           rows.encoding);
  }
}

// The values of a term, from the one array that is given.
std::vector<Value> read_values(const sidbeam_term& term) {
  const int arrays =
      (term.integers != nullptr) + (term.numbers != nullptr) + (term.bools != nullptr) + (term.strings != nullptr);
  if (arrays > 1 || (arrays == 0 && term.count > 0))
    fail(SIDBEAM_INVALID_ARGUMENT, "term gives %d arrays of values, expected one of integers, numbers, bools, strings",
         arrays);
  std::vector<Value> values(static_cast<size_t>(term.count));
  for (int64_t i = 0; i < term.count; ++i) {
    Value& value = values[static_cast<size_t>(i)];
    if (term.numbers != nullptr) {
      value.kind = Value::Kind::kNumber;
      value.number = term.numbers[i];
    } else if (term.strings != nullptr) {
      if (term.strings[i] == nullptr)
        fail(SIDBEAM_INVALID_ARGUMENT, "term.strings[%lld] is NULL, expected a string", static_cast<long long>(i));
      value.kind = Value::Kind::kText;
      value.text = term.strings[i];
    } else if (term.bools != nullptr) {
      value.kind = Value::Kind::kBool;
      value.integer = term.bools[i] != 0 ? 1 : 0;
    } else {
      value.integer = term.integers[i];
    }
  }
  return values;
}

Term read_term(const sidbeam_term& given) {
  constexpr int64_t kMostValues = int64_t{1} << 24;
  require(given.attribute, "term.attribute");
  if (given.op < SIDBEAM_TERM_EQUAL || given.op > SIDBEAM_TERM_IS_NULL)
    fail(SIDBEAM_INVALID_ARGUMENT, "term.op is %d, expected SIDBEAM_TERM_EQUAL (%d) to IS_NULL (%d)", given.op,
         SIDBEAM_TERM_EQUAL, SIDBEAM_TERM_IS_NULL);
  if (given.count < 0 || given.count > kMostValues)
    fail(SIDBEAM_INVALID_ARGUMENT, "term.count is %lld, expected 0..%lld", static_cast<long long>(given.count),
         static_cast<long long>(kMostValues));
  return {given.attribute, static_cast<TermOp>(given.op), read_values(given)};
}

void check_combination(int32_t op, sidbeam_filter* const* filters, int64_t count) {
  if (op != SIDBEAM_FILTER_AND && op != SIDBEAM_FILTER_OR && op != SIDBEAM_FILTER_NOT)
    fail(SIDBEAM_INVALID_ARGUMENT, "op is %d, expected SIDBEAM_FILTER_AND, OR or NOT", op);
  if (count < 1 || (op == SIDBEAM_FILTER_NOT && count != 1))
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected %s", static_cast<long long>(count),
         op == SIDBEAM_FILTER_NOT ? "1, since op is NOT" : "at least 1");
  require(filters, "filters");
  for (int64_t i = 0; i < count; ++i) {
    if (filters[i] == nullptr)
      fail(SIDBEAM_INVALID_ARGUMENT, "filters[%lld] is NULL, expected a filter", static_cast<long long>(i));
    if (filters[i]->index.get() != filters[0]->index.get())
      fail(SIDBEAM_INVALID_ARGUMENT, "filters[%lld] is of another index, expected that of filters[0]",
           static_cast<long long>(i));
  }
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_filter_from_items(sidbeam_index* index, const sidbeam_item_list* items, int64_t* unknown,
                                         sidbeam_filter** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(out, "out");
    const ListedRows listed = rows_of_items(*index, {read_struct(items, "items"), "items"});
    *out = make_filter(*index, bits_of(*index, listed)).release();
    if (unknown != nullptr) *unknown = listed.unknown;
  });
}

sidbeam_status sidbeam_filter_from_rows(sidbeam_index* index, const sidbeam_row_set* rows, sidbeam_filter** out,
                                        sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(out, "out");
    *out = make_filter(*index, read_rows(*index, read_struct(rows, "rows"))).release();
  });
}

sidbeam_status sidbeam_filter_from_term(sidbeam_index* index, const sidbeam_term* term, sidbeam_filter** out,
                                        sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(out, "out");
    Expression expression;
    expression.term = read_term(read_struct(term, "term"));
    *out = make_filter(*index, std::move(expression)).release();
  });
}

sidbeam_status sidbeam_filter_parse(sidbeam_index* index, const char* text, int64_t bytes, sidbeam_filter** out,
                                    sidbeam_error* err) {
  return guarded(err, [&] {
    require(index, "index");
    require(text, "text");
    require(out, "out");
    if (bytes < 0) fail(SIDBEAM_INVALID_ARGUMENT, "bytes is %lld, expected at least 0", static_cast<long long>(bytes));
    *out = make_filter(*index, parse_expression({text, static_cast<size_t>(bytes)})).release();
  });
}

sidbeam_status sidbeam_filter_text(const sidbeam_filter* filter, int64_t capacity, char* text, int64_t* bytes,
                                   sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    require(bytes, "bytes");
    if (capacity < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "capacity is %lld, expected at least 0", static_cast<long long>(capacity));
    if (capacity > 0) require(text, "text");
    if (filter->expression == nullptr)
      fail(SIDBEAM_UNSUPPORTED,
           "the filter has no text, expected one that was parsed, made of a term, or combined from "
           "such");
    const std::string printed = print_expression(*filter->expression);
    std::copy_n(printed.data(), std::min(capacity, std::ssize(printed)), text);
    *bytes = std::ssize(printed);
  });
}

sidbeam_status sidbeam_filter_combine(int32_t op, sidbeam_filter* const* filters, int64_t count, sidbeam_filter** out,
                                      sidbeam_error* err) {
  return guarded(err, [&] {
    require(out, "out");
    check_combination(op, filters, count);
    *out = combine_filters(op, filters, count).release();
  });
}

sidbeam_status sidbeam_filter_update(sidbeam_filter* filter, const sidbeam_item_list* items, const uint8_t* allowed,
                                     int64_t* unknown, sidbeam_filter** out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    require(out, "out");
    const NamedItems named{read_struct(items, "items"), "items"};
    if (named.list.count > 0) require(allowed, "allowed");
    int64_t missing = 0;
    *out = update_filter(*filter, named, allowed, missing).release();
    if (unknown != nullptr) *unknown = missing;
  });
}

sidbeam_status sidbeam_filter_on(const sidbeam_filter* filter, sidbeam_index* index, sidbeam_filter** out,
                                 sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    require(index, "index");
    require(out, "out");
    *out = filter_on(*filter, *index).release();
  });
}

sidbeam_status sidbeam_filter_prepare(const sidbeam_filter* filter, sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    require_trie(*filter->index);
    filter->prepare();
  });
}

sidbeam_status sidbeam_filter_get_info(const sidbeam_filter* filter, sidbeam_filter_info* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    check_output(out, "out");
    const FilterBits* derived = filter->derived.known();
    sidbeam_filter_info info = SIDBEAM_FILTER_INFO_INIT;
    info.prepared = derived != nullptr ? 1 : 0;
    info.items = filter->items;
    info.sids = derived != nullptr ? static_cast<int64_t>(derived->sids()) : -1;
    info.bytes = filter->rows.bytes() + (derived != nullptr ? derived->bytes() : 0) + filter->copies.bytes();
    write_struct(info, out);
  });
}

sidbeam_status sidbeam_filter_rows(const sidbeam_filter* filter, const uint64_t** bits, int64_t* words,
                                   sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    require(bits, "bits");
    require(words, "words");
    *bits = filter->rows.data();
    *words = static_cast<int64_t>(row_words(filter->index->row_count()));
  });
}

void sidbeam_filter_retain(sidbeam_filter* filter) {
  if (filter != nullptr) filter->retain();
}

void sidbeam_filter_release(sidbeam_filter* filter) {
  if (filter != nullptr) filter->release();
}

}  // extern "C"
