// Questions to an index.
// SPDX-License-Identifier: Apache-2.0
#include "index/read/lookup.h"

#include <optional>

#include "capi/guard.h"
#include "decode/objects.h"
#include "index/read/children.h"
#include "index/read/item_lists.h"
#include "index/read/items.h"
#include "index/read/value_cap.h"
#include "sidbeam/constraint.h"
#include "sidbeam/index.h"

using namespace sidbeam;
using namespace sidbeam::capi;

namespace {

const IndexView& view_of(const sidbeam_index* index) {
  require(index, "index");
  return index->index.view;
}

void check_position(const char* name, int64_t value, uint64_t count) {
  if (value < 0 || static_cast<uint64_t>(value) >= count)
    fail(SIDBEAM_INVALID_ARGUMENT, "%s is %lld, expected 0..%llu", name, static_cast<long long>(value),
         static_cast<unsigned long long>(count - 1));
}

// Whether not all items of a SID have gone.
bool has_live_item(const sidbeam_index& index, uint64_t ordinal) {
  const uint64_t* live = index.live_rows();
  bool has_one = live == nullptr;
  if (!has_one)
    for_each_item_row(index.index.view, ordinal, [&](uint64_t row) {
      has_one = has_bit(live, row);
      return !has_one;
    });
  return has_one;
}

// Of a version of a catalogue to which something was added.
void refuse_added(const IndexView& index, const char* what) {
  if (index.overlay != nullptr) fail(SIDBEAM_UNSUPPORTED, "items have been added to the index's base, and %s", what);
}

void check_codes(const char* name, const int32_t* codes, int32_t length, int32_t longest) {
  if (length < 0 || length > longest) fail(SIDBEAM_INVALID_ARGUMENT, "length is %d, expected 0..%d", length, longest);
  if (length > 0) require(codes, name);
}

}  // namespace

namespace {

// Arguments of a list of items, as in the ABI.
struct ItemsOfOrdinals {
  const int64_t* ordinals;
  int64_t count;
  sidbeam_item_limits limits;
  int64_t *item_rows, *offsets;
  int32_t *truncated, *came_short;
};

void check_call(const IndexView& index, const ItemsOfOrdinals& call) {
  check_item_lists({call.limits.limit_per_sid, call.limits.limit}, call.limits.distinct, call.item_rows, call.offsets);
  check_cap({call.limits.cap_attribute, call.limits.cap});
  require(call.offsets, "offsets");
  if (call.count < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "count is %lld, expected at least 0", static_cast<long long>(call.count));
  if (call.count > 0) require(call.ordinals, "ordinals");
  for (int64_t i = 0; i < call.count; ++i)
    if (call.ordinals[i] < -1 || call.ordinals[i] >= static_cast<int64_t>(sid_count(index)))
      fail(SIDBEAM_INVALID_ARGUMENT, "ordinals[%lld] is %lld, expected -1..%llu", static_cast<long long>(i),
           static_cast<long long>(call.ordinals[i]), static_cast<unsigned long long>(sid_count(index) - 1));
}

void list_items(const sidbeam_index& index, const RulesView* rules, const ItemsOfOrdinals& call) {
  const IndexView& view = index.index.view;
  check_call(view, call);
  const CapRequest request = {call.limits.cap_attribute, call.limits.cap};
  ValueCounts counts(index.runtime->allocator);
  std::optional<ValueCap> cap;
  if (request.most > 0) cap.emplace(index.capped(request, "cap_attribute"), request.most, counts);
  const RepeatsView* repeats = call.limits.distinct != 0 ? &index.find_repeats() : nullptr;
  OrdinalSet earlier(index.runtime->allocator, repeats != nullptr ? call.count : 0);
  const auto list = [&](int64_t* item_rows, int64_t* offsets) {
    ItemList rows({call.limits.limit_per_sid, call.limits.limit}, rules, cap ? &*cap : nullptr, item_rows);
    earlier.clear();
    for (int64_t i = 0; i < call.count; ++i) {
      if (offsets != nullptr) offsets[i] = rows.count();
      rows.append(view, repeats, earlier, call.ordinals[i]);
    }
    if (offsets != nullptr) offsets[call.count] = rows.count();
    return rows;
  };
  if (cap && !cap->reserve(call.limits.limit)) list(nullptr, nullptr);  // it may fail, before anything is written
  const ItemList rows = list(call.item_rows, call.offsets);
  if (call.truncated != nullptr) *call.truncated = rows.truncated() ? 1 : 0;
  if (call.came_short != nullptr) *call.came_short = rows.came_short() ? 1 : 0;
}

}  // namespace

extern "C" {

sidbeam_status sidbeam_index_sid(const sidbeam_index* index, int64_t ordinal, int32_t* codes, int32_t* length,
                                 sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(codes, "codes");
    require(length, "length");
    check_position("ordinal", ordinal, sid_count(view));
    *length = sid_of(view, static_cast<uint64_t>(ordinal), codes);
  });
}

sidbeam_status sidbeam_index_find_sid(const sidbeam_index* index, const int32_t* codes, int32_t length,
                                      int64_t* ordinal, sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(ordinal, "ordinal");
    check_codes("codes", codes, length, view.levels);
    const int64_t found = find_sid(view, codes, length);
    *ordinal = found >= 0 && has_live_item(*index, static_cast<uint64_t>(found)) ? found : -1;
  });
}

sidbeam_status sidbeam_index_ordinals(const sidbeam_index* index, const int32_t* prefix, int32_t length, int64_t* lo,
                                      int64_t* hi, sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(lo, "lo");
    require(hi, "hi");
    check_codes("prefix", prefix, length, view.levels);
    refuse_added(view, "the ordinals below a prefix are no range: follow sidbeam_index_children()");
    const OrdinalRange range = prefix_ordinals(view, prefix, length);
    *lo = static_cast<int64_t>(range.lo);
    *hi = static_cast<int64_t>(range.hi);
  });
}

sidbeam_status sidbeam_index_children(const sidbeam_index* index, const int32_t* prefix, int32_t length,
                                      int64_t capacity, int32_t* codes, int64_t* count, int32_t* end,
                                      sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(count, "count");
    require(end, "end");
    if (capacity < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "capacity is %lld, expected at least 0", static_cast<long long>(capacity));
    if (capacity > 0) require(codes, "codes");
    check_codes("prefix", prefix, length, view.levels - 1);
    const ChildCount children = children_of(view, index->live_rules(), prefix, length, codes, capacity);
    *count = children.count;
    *end = children.end ? 1 : 0;
  });
}

sidbeam_status sidbeam_index_item_rows(const sidbeam_index* index, int64_t ordinal, int64_t* lo, int64_t* hi,
                                       sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(lo, "lo");
    require(hi, "hi");
    check_position("ordinal", ordinal, sid_count(view));
    refuse_added(view, "the item rows of an ordinal are no range: list them with sidbeam_index_items()");
    const OrdinalRange range = item_rows(view, static_cast<uint64_t>(ordinal));
    *lo = static_cast<int64_t>(range.lo);
    *hi = static_cast<int64_t>(range.hi);
  });
}

sidbeam_status sidbeam_index_items(const sidbeam_index* index, const int64_t* ordinals, int64_t count,
                                   int64_t limit_per_sid, int64_t limit, int32_t distinct, int64_t* item_rows,
                                   int64_t* offsets, int32_t* truncated, sidbeam_error* err) {
  return guarded(err, [&] {
    view_of(index);
    sidbeam_item_limits limits = SIDBEAM_ITEM_LIMITS_INIT;
    limits.limit_per_sid = limit_per_sid;
    limits.limit = limit;
    limits.distinct = distinct;
    list_items(*index, index->live_rules(), {ordinals, count, limits, item_rows, offsets, truncated, nullptr});
  });
}

sidbeam_status sidbeam_constraint_items(const sidbeam_constraint* constraint, const int64_t* ordinals, int64_t count,
                                        const sidbeam_item_limits* limits, int64_t* item_rows, int64_t* offsets,
                                        int32_t* truncated, int32_t* came_short, sidbeam_error* err) {
  return guarded(err, [&] {
    require(constraint, "constraint");
    const sidbeam_item_limits none = SIDBEAM_ITEM_LIMITS_INIT;
    list_items(*constraint->index, constraint->rules(),
               {ordinals, count, read_struct(limits != nullptr ? limits : &none, "limits"), item_rows, offsets,
                truncated, came_short});
  });
}

sidbeam_status sidbeam_index_item_ordinal(const sidbeam_index* index, int64_t item_row, int64_t* ordinal,
                                          sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(ordinal, "ordinal");
    check_position("item_row", item_row, row_count(view));
    *ordinal = static_cast<int64_t>(item_ordinal(view, static_cast<uint64_t>(item_row)));
  });
}

sidbeam_status sidbeam_index_item_id(const sidbeam_index* index, int64_t item_row, int64_t* id, const char** name,
                                     int64_t* bytes, sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(id, "id");
    check_position("item_row", item_row, row_count(view));
    const bool named = view.id_type == IdType::kString;
    const std::string_view text = named ? item_name(view, static_cast<uint64_t>(item_row)) : std::string_view();
    *id = named ? -1 : sidbeam::item_id(view, static_cast<uint64_t>(item_row));
    if (name != nullptr) *name = named ? text.data() : nullptr;
    if (bytes != nullptr) *bytes = static_cast<int64_t>(text.size());
  });
}

sidbeam_status sidbeam_index_item_priority(const sidbeam_index* index, int64_t item_row, int64_t* priority,
                                           sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(priority, "priority");
    check_position("item_row", item_row, row_count(view));
    const Index& base = index->base().index;
    const auto row = static_cast<uint64_t>(item_row);
    if (row >= base.view.items) {  // what was added to a base is always known
      *priority = item_priority(index->delta()->index.priorities, delta_row(view, row));
      return;
    }
    if (!has_priorities(base.priorities))
      fail(SIDBEAM_MISSING_SECTION, "the index keeps no priorities: build it with keep_priorities");
    *priority = item_priority(base.priorities, row);
  });
}

sidbeam_status sidbeam_index_find_item(const sidbeam_index* index, int64_t id, const char* name, int64_t bytes,
                                       int64_t from_item_row, int64_t* item_row, sidbeam_error* err) {
  return guarded(err, [&] {
    const IndexView& view = view_of(index);
    require(item_row, "item_row");
    if (from_item_row < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "from_item_row is %lld, expected at least 0",
           static_cast<long long>(from_item_row));
    const bool named = view.id_type == IdType::kString;
    if (named != (name != nullptr))
      fail(SIDBEAM_INVALID_ARGUMENT,
           named ? "name is NULL, expected a name: the ids of this index are strings"
                 : "name is given, expected NULL and an id: the ids of this index are integers");
    if (named && bytes < 0)
      fail(SIDBEAM_INVALID_ARGUMENT, "bytes is %lld, expected at least 0", static_cast<long long>(bytes));
    const std::string_view text = named ? std::string_view(name, static_cast<size_t>(bytes)) : std::string_view();
    int64_t row = find_item(view, id, text, static_cast<uint64_t>(from_item_row));
    const uint64_t* live = index->live_rows();
    while (row >= 0 && live != nullptr && !has_bit(live, static_cast<uint64_t>(row)))
      row = find_item(view, id, text, static_cast<uint64_t>(row) + 1);
    *item_row = row;
  });
}

}  // extern "C"
