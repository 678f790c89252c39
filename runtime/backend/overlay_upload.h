// A delta and its overlay, as a version of a live catalogue has them beside its base, on a device.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/device.h"
#include "index/index.h"
#include "index/overlay.h"

namespace sidbeam {

// `beside` is the view of the base that `below`, on the same device, has. Costs as much as there is in delta and
// overlay, whatever the base. Masks of merged rows stay here: no device kernel finds children by a mask, and where an
// entry of such a row leads is looked up in the tries. config.kinds and config.verify are those of the base.
Ref<Upload> upload_overlay(Ref<Device> device, const Index& delta, const OverlayView& overlay, const IndexView& beside,
                           Ref<Upload> below, const sidbeam_upload_config& config);

}  // namespace sidbeam
