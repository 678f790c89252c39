// SPDX-License-Identifier: Apache-2.0
#include "backend/settings.h"

#include <cmath>
#include <cstdio>

#include "support/error.h"

namespace sidbeam {
namespace {

[[noreturn]] void refuse(const Setting& setting, const char* expected) {
  char place[24] = "";
  if (setting.entry >= 0) std::snprintf(place, sizeof place, "[%lld]", static_cast<long long>(setting.entry));
  fail(SIDBEAM_INVALID_ARGUMENT, "%s%s is %g, expected %s, or 0 for %s", setting.name, place,
       static_cast<double>(setting.value), expected, setting.zero);
}

}  // namespace

void check_inverse_temperature(const Setting& setting) {
  if (!(std::isfinite(setting.value) && setting.value >= 0.0F)) refuse(setting, "a finite number above 0");
}

void check_soft_cap(const Setting& setting) {
  if (!(setting.value >= 0.0F)) refuse(setting, "a number above 0 (+inf for none)");
}

}  // namespace sidbeam
