// The payload of a log's record (schemas/live.fbs): what a publication of a live catalogue changed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/live/pair_store.h"

namespace sidbeam {

// What a record says besides what it changes.
struct PublicationInfo {
  int64_t version = 0, nanoseconds = 0;
  int64_t back_to = 0;  // the version whose content this one has again, with nothing added; 0: none
};

// The most that a payload takes.
inline constexpr int64_t kMostPublicationBytes = (int64_t{1} << 31) - (int64_t{1} << 22);

// The payload of what was changed in a store since its last seal, and of item rows alone that come or go, rising.
std::vector<uint8_t> write_publication(const PublicationInfo& info, const PairStore& store);
std::vector<uint8_t> write_publication(const PublicationInfo& info, std::span<const uint64_t> toggled);
// Checks a payload and applies it to the store of a base with as many levels and such ids. Throws CORRUPT, and what the
// store throws.
PublicationInfo apply_publication(std::span<const uint8_t> payload, const IndexView& base, PairStore& store);

}  // namespace sidbeam
