// What a call may answer, by the contract and by the fault in its arguments.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sidbeam/sidbeam.h>

#include <cstdint>
#include <initializer_list>

namespace fuzz::abi {

class Answers {
 public:
  // Something is wrong: the call fails, with this status or another one named.
  void fails(sidbeam_status status) {
    success_ = false;
    may_fail(status);
  }
  // A fault that the library may not see.
  void may_succeed() { success_ = true; }
  void may_fail(sidbeam_status status) { failures_ |= 1u << status; }
  void fails_if(bool wrong, sidbeam_status status) {
    if (wrong) fails(status);
  }

  bool success() const { return success_; }
  bool allow(sidbeam_status status) const {
    return status == SIDBEAM_OK ? success_ : status > 0 && status < 32 && (failures_ >> status & 1) != 0;
  }

 private:
  bool success_ = true;
  uint32_t failures_ = 0;
};

}  // namespace fuzz::abi
