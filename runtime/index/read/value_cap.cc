// SPDX-License-Identifier: Apache-2.0
#include "index/read/value_cap.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "index/attributes/find.h"
#include "index/hash_seed.h"
#include "index/rules/expression.h"
#include "support/error.h"
#include "support/secret.h"

namespace sidbeam {

void ValueCounts::resize(int64_t places) {
  if (places_.size() == 0) mix_ = key_mix(secret_number());
  Buffer<Place> before = Buffer<Place>::zeroed(allocator_, places);
  std::swap(before, places_);
  for (const Place& place : before)
    if (place.round == round_) places_[place_of(place.value)] = place;
}

void ValueCounts::reserve(int64_t values) {
  constexpr int64_t kFewest = 64;
  if (2 * values <= places_.size()) return;
  resize(std::max(kFewest, static_cast<int64_t>(std::bit_ceil(2 * static_cast<uint64_t>(values)))));
}

void ValueCounts::add_one(int64_t value) {
  reserve(used_ + 1);
  Place& place = places_[place_of(value)];
  if (place.round != round_) {
    place = {value, 0, round_};
    ++used_;
  }
  ++place.count;
}

bool ValueCap::reserve(int64_t limit) {
  constexpr int64_t kFew = 256;
  const Attribute& attribute = *column_.attribute;
  const bool listed = attribute.type == AttributeType::kStringList;
  int64_t most = limit > 0 && !listed ? limit : std::numeric_limits<int64_t>::max();
  if (attribute.type == AttributeType::kBool) most = 2;
  const uint64_t strings =
      attribute.dictionary.count + (column_.of_delta != nullptr ? column_.of_delta->dictionary.count : 0);
  if (listed || attribute.type == AttributeType::kString)
    most = std::min(most, static_cast<int64_t>(std::min<uint64_t>(strings, kFew + 1)));
  if (most > kFew) return false;
  counts_.reserve(most);
  return true;
}

void check_cap(const CapRequest& request) {
  if (request.most < 0)
    fail(SIDBEAM_INVALID_ARGUMENT, "cap is %lld, expected at least 0", static_cast<long long>(request.most));
  if (request.most > 0 && request.attribute == nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "cap is %lld and cap_attribute is NULL, expected the attribute that it is for",
         static_cast<long long>(request.most));
  if (request.most == 0 && request.attribute != nullptr)
    fail(SIDBEAM_INVALID_ARGUMENT, "cap is 0 and cap_attribute %s, expected a cap of at least 1 for it",
         Quoted(request.attribute).text);
}

const Attribute& capped_attribute(const Attributes& attributes, const CapRequest& request, const char* what) {
  const Attribute& attribute = attribute_named(attributes, request.attribute, what);
  if (attribute.type == AttributeType::kF32)
    fail(SIDBEAM_INVALID_ARGUMENT,
         "%s %s holds numbers (f32), expected one of integers, bools, strings or lists of strings", what,
         Quoted(request.attribute).text);
  return attribute;
}

}  // namespace sidbeam
