// The payload of a log's record (schemas/live.fbs): what a publication of a live catalogue changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/live/pair_store.h"

namespace sidbeam {

// What one call changes, as a publication will say it. A store must have taken it, and has checked it. Throws where it
// would be too large for one.
std::vector<uint8_t> write_addition(const Index& base, const Catalogue::Pairs& pairs,
                                    std::span<const sidbeam_attribute_column* const> attributes);
std::vector<uint8_t> write_removal(const IndexView& base, std::span<const ItemId> ids);

// What a record says apart from its changes.
struct PublicationInfo {
  int64_t version = 0, nanoseconds = 0;
  int64_t back_to = 0;  // the version whose content this one has again, without changes; 0: none
};

// The most that the changes of a publication take, and what each takes beside its bytes.
inline constexpr int64_t kMostPublicationBytes = (int64_t{1} << 31) - (int64_t{1} << 22);
inline constexpr int64_t kChangeOverhead = 64;

int64_t recorded_bytes(std::span<const std::vector<uint8_t>> changes);

// The payload. With back_to, `toggled` are the item rows that come or go.
std::vector<uint8_t> write_publication(const PublicationInfo& info, std::span<const std::vector<uint8_t>> changes,
                                       std::span<const uint64_t> toggled);
// Checks a payload and applies it to the store of a base with as many levels and such ids. Throws CORRUPT, and what the
// store throws.
PublicationInfo apply_publication(std::span<const uint8_t> payload, const IndexView& base, PairStore& store);

}  // namespace sidbeam
