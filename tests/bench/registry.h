// Every method by its name. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "method.h"
#include "world.h"

namespace bench {

// What a method's beams must be.
enum class Promise {
  kConstrained,    // those of mask-then-top-k
  kUnconstrained,  // those of top-k
  kApproximate,    // any; the share of the exact ones among them is reported
  kDrawn,          // draws, or a search under rules: what `same_as` has where it is given
  kNoBeams,        // it has none
};

struct MethodEntry {
  const char* name;
  std::unique_ptr<Method> (*make)(World& world, const Shape& shape);
  double bytes_per_code;      // of its structure, for each of the N * L codes of a catalogue, about
  const char* unconstrained;  // the step written in the same way without the constraint; "" for none
  Promise promise;
  bool exact_ties = true;    // ordered as in the contract; else scores that differ by rounding may change places
  bool given = false;        // it is given the log-sum-exp of rows even where others are not
  const char* same_as = "";  // of an approximate method, or of draws: another that must have the same beams
};

// Throws if there is no such method.
const MethodEntry& find_method(const std::string& name);
// Why a method cannot take part: its structure would be too large, or the library does not have it yet. "" if it can.
std::string why_not(const MethodEntry& entry, World& world, double most_bytes);

}  // namespace bench
