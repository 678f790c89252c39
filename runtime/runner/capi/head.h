// What a runner's config says about a draft head.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runner/capi/service.h"

namespace sidbeam::runner {

// Throws for settings of a head that do not fit the others of the config, or come without one.
void check_head_config(const sidbeam_runner_config& config);
// Throws for a head that the service's model and constraint cannot work with, or tokens that are not the model's.
void check_head(const Service& service, const sidbeam_runner_config& config);
// Throws where a codebook is another than that of the service's constraint or head.
void check_codebook(const Service& service, const char* what, const char* codebook);
std::unique_ptr<Output> make_output_of_head(const Allocator& allocator, const Service& service);
// A forward pass of the service's model and head; `limits` as of a model without a head.
std::unique_ptr<Forward> make_forward_with_head(const Allocator& allocator, const Service& service,
                                                const sidbeam_runner_config& config, ForwardLimits limits,
                                                const Workers& workers);

}  // namespace sidbeam::runner
