// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "index/attributes/columns.h"

namespace sidbeam {

// The attribute of this name. Throws INVALID_ARGUMENT where there is none, with the names that there are; `what` comes
// before the name.
const Attribute& attribute_named(const Attributes& attributes, std::string_view name, const char* what);

}  // namespace sidbeam
