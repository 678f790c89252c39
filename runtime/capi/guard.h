// The boundary between C and C++: the checks of support/arguments.h for the structs of this library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "capi/first_version.h"
#include "support/arguments.h"
