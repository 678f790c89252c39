// SPDX-License-Identifier: Apache-2.0
#include "index/attributes/find.h"

#include <algorithm>
#include <string>

#include "index/rules/expression.h"
#include "support/error.h"

namespace sidbeam {

const Attribute& attribute_named(const Attributes& attributes, std::string_view name, const char* what) {
  if (const Attribute* found = find_attribute(attributes, name); found != nullptr) return *found;
  constexpr size_t kMostShown = 5;
  std::string names;
  for (size_t i = 0; i < std::min(attributes.size(), kMostShown); ++i)
    (names += i > 0 ? ", " : "") += Quoted(attributes[i].name).text;
  if (attributes.size() > kMostShown) names += " and others, " + std::to_string(attributes.size()) + " in all";
  fail(SIDBEAM_INVALID_ARGUMENT, "%s %s is not there, expected %s%s", what, Quoted(name).text,
       attributes.empty() ? "none, since the index has no attributes" : "one of ", names.c_str());
}

}  // namespace sidbeam
