// What the opaque handles of runner.h are.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/capi/service.h"

namespace sidbeam::runner {

inline Model* object(sidbeam_model* handle) { return reinterpret_cast<Model*>(handle); }
inline const Model* object(const sidbeam_model* handle) { return reinterpret_cast<const Model*>(handle); }
inline sidbeam_model* handle(Model* object) { return reinterpret_cast<sidbeam_model*>(object); }

inline Service* object(sidbeam_runner* handle) { return reinterpret_cast<Service*>(handle); }
inline const Service* object(const sidbeam_runner* handle) { return reinterpret_cast<const Service*>(handle); }
inline sidbeam_runner* handle(Service* object) { return reinterpret_cast<sidbeam_runner*>(object); }

}  // namespace sidbeam::runner
