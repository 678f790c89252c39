// Sets of an index's items.
// SPDX-License-Identifier: Apache-2.0
#include "sidbeam/filter.h"

#include "capi/guard.h"
#include "decode/rules.h"
#include "index/rules/bits.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

Buffer<uint64_t> bits_of(const sidbeam_index& index, const ListedRows& listed) {
  Buffer<uint64_t> bits = make_bits(index.index.view.items, index.runtime->allocator);
  std::fill(bits.begin(), bits.end(), uint64_t{0});
  for (int64_t i = 0; i < listed.count; ++i) put_bit(bits.data(), listed.rows[i], true);
  return bits;
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

sidbeam_status sidbeam_filter_prepare(const sidbeam_filter* filter, sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    filter->prepare();
  });
}

sidbeam_status sidbeam_filter_get_info(const sidbeam_filter* filter, sidbeam_filter_info* out, sidbeam_error* err) {
  return guarded(err, [&] {
    require(filter, "filter");
    check_output(out, "out");
    const DerivedBits* derived = filter->derived.known();
    sidbeam_filter_info info = SIDBEAM_FILTER_INFO_INIT;
    info.prepared = derived != nullptr ? 1 : 0;
    info.items = filter->items;
    info.sids = derived != nullptr ? static_cast<int64_t>(derived->sids()) : -1;
    info.bytes = filter->rows.bytes() + (derived != nullptr ? derived->bytes() : 0);
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
    *words = static_cast<int64_t>((filter->index->index.view.items + 63) / 64);
  });
}

void sidbeam_filter_retain(sidbeam_filter* filter) {
  if (filter != nullptr) filter->retain();
}

void sidbeam_filter_release(sidbeam_filter* filter) {
  if (filter != nullptr) filter->release();
}

}  // extern "C"
