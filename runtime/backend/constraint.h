// The constraint of slots and logits rows, as backends see it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "backend/device.h"
#include "backend/filter_copy.h"
#include "index/read/value_cap.h"
#include "index/rules/subset.h"
#include "index/views.h"
#include "support/ref_counted.h"

namespace sidbeam {

// Immutable and shared between threads; its index stays as long as it does.
class Constraint : public RefCounted<Constraint> {
 public:
  virtual ~Constraint() = default;
  virtual const IndexView& view() const = 0;
  // nullptr: every item is allowed.
  virtual const RulesView* rules() const = 0;
  // The lists of rules() for the merged rows of an overlay, as devices take them; nullptr where there are none. The
  // first call makes them and may throw.
  virtual const RulesView* merged_lists() const = 0;
  // Items that have several SIDs. The first call looks for them and may throw.
  virtual const RepeatsView& repeats() const = 0;
  // The attribute of a cap. Throws where it is not there, or of a type that has no values to count; `what` comes before
  // its name.
  virtual CappedColumn capped(const CapRequest& request, const char* what) const = 0;
  // The index on a device with these kinds of sections; null if it is not there.
  virtual Ref<Upload> find_upload(int32_t device_id, int32_t kinds) const = 0;
  // The same, uploading it first if necessary.
  virtual Ref<Upload> bring_upload(int32_t device_id, int32_t kinds) const = 0;
  // The bits of its filter on a device, uploading them first if necessary; null where rules() need none.
  virtual Ref<FilterCopy> bring_filter(int32_t device_id) const = 0;
};

// A constraint's rules as a device takes them; `filter` is what bring_filter() gave.
inline DeviceRules device_rules(const Constraint& constraint, const FilterCopy* filter) {
  const IndexView& index = constraint.view();
  return {constraint.rules(), filter != nullptr ? &filter->view() : nullptr, index.csr_levels,
          index.overlay != nullptr ? index.levels : 0, constraint.merged_lists()};
}

}  // namespace sidbeam
