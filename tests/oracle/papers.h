// Models of the DISC-PPV paper. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sample.h"

namespace oracle {

// Figure 1. In order: "soccer gloves", "used soccer shoes", "used shirts". The model prefers "soccer" (0.6), but of
// what follows it 0.9 are "shoes", which the catalogue has only used.
Model figure_one();
// The construction of theorem 2.1: SIDs (0,0) and (0,1) share the good mass, (1,0) has bad_mass * epsilon, and (1,1),
// with the rest, is not in the catalogue. P of the catalogue is 1 - bad_mass (1 - epsilon).
Model theorem_two_one(double bad_mass, double epsilon);

}  // namespace oracle
