// The process that an object on a CUDA device belongs to.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/error.h"
#include "support/process.h"

namespace sidbeam {

// A member of the object. A forked child has its parent's objects, but CUDA does not work for it: there they are
// dropped without telling the plugin, and calls on them fail.
class DeviceProcess {
 public:
  // Throws BAD_STATE in a child.
  void check(int32_t device_id) const {
    if (process_ != this_process())
      fail(SIDBEAM_BAD_STATE, "CUDA device %d was opened before this process was forked, expected objects made in it",
           device_id);
  }
  // Calls a function of a plugin's that frees the object, or prepares that.
  template <class... Parameters, class... Arguments>
  void let_go(void (*function)(Parameters...), Arguments... arguments) const {
    if (process_ == this_process()) function(arguments...);
  }

 private:
  const uint64_t process_ = this_process();
};

}  // namespace sidbeam
