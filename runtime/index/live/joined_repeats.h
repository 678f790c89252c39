// Items of a snapshot that have several SIDs, in base and delta together; see read/repeats.h. Their entries are by the
// snapshot's rows and ordinals.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "index/read/repeats.h"
#include "index/rules/id_table.h"
#include "index/views.h"
#include "support/memory.h"

namespace sidbeam {

class JoinedRepeats {
 public:
  // Of an index with an overlay, from what repeats in base and in delta alone and the table of the base's ids. Costs as
  // much as there are repeats and added rows.
  JoinedRepeats(const IndexView& index, const RepeatsView& of_base, const IdTable& base_ids,
                const RepeatsView& of_delta, const Allocator& allocator);
  const RepeatsView& view() const { return view_; }

 private:
  UintBuffer rows_, items_, offsets_, ordinals_;
  RepeatsView view_;
};

}  // namespace sidbeam
