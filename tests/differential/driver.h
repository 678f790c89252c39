// The command line of a differential test.
//
//   --cases N --seed S    cases of seeds S .. S+N-1; the first that fails is shrunk to a line
//   --no-shrink           it is not: after an error that sticks, every smaller case fails too
//   --seconds S           no further case after this many seconds
//   --case 'LINE'         that line
//   --coverage            also fail if a path was reached less often than the test or the list here demands
//
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checks.h"

namespace differential {

using Check = void (*)(const Machine&, const Case&, Coverage*);

struct Floor {
  const char* name;
  int64_t least;
};
// What every such test reaches, on whatever it runs.
inline constexpr const char* kReachedByAll[] = {"steps compared bit for bit",
                                                "steps compared within tolerance",
                                                "steps that leave nothing",
                                                "steps with fewer candidates than the width",
                                                "bad rows that are errors",
                                                "bad normalisers of the caller's that are errors",
                                                "bad rows that cannot matter",
                                                "ended beams that compete",
                                                "starts at a prefix",
                                                "starts at a prefix that no SID has",
                                                "stops in the middle",
                                                "starts of all slots, unlisted",
                                                "steps that follow what a slot was started with",
                                                "steps whose temperature comes before the slot's",
                                                "steps whose soft-cap comes before the slot's",
                                                "steps that lift the soft-cap",
                                                "steps of slots at different levels",
                                                "steps of slots with different constraints",
                                                "rows read",
                                                "rows bad",
                                                "selection workspace cut back",
                                                "rows with one child, summed",
                                                "rows with one child, not summed",
                                                "rows with listed children",
                                                "unconstrained rows",
                                                "probed rows",
                                                "dead beams",
                                                "beams with several items",
                                                "beams whose children were listed",
                                                "item lists cut by a limit",
                                                "item lists without items of better beams",
                                                "item lists that came short, by number",
                                                "item lists that came short, by flag",
                                                "item lists that came short, by word",
                                                "item lists that came short, by words",
                                                "item lists cut after a cap",
                                                "steps wider than the one before",
                                                "steps narrower than the one before",
                                                "lives repeated alone",
                                                "lives repeated with trie and sorted",
                                                "states advanced",
                                                "states ended",
                                                "rows of topk",
                                                "tails, item_column_tail",
                                                "tails with ends",
                                                "steps compared with a full sort"};
// The exit status. Every case is adjusted before it is run. `floors` add to those of kReachedByAll, which only
// check_case() reaches.
int drive(int argc, char** argv, Machine (*make_machine)(), const std::vector<Floor>& floors,
          Case (*adjusted)(Case) = repaired, Check check = check_case);

// This machine's ways on the CPU: its best, each target that it has, two threads, and seven of the host's.
Machine make_cpu_machine();

}  // namespace differential
