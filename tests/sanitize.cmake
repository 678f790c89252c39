# What the sanitizers leave out, since there it costs more than it finds; included before any target of the tests.
# SPDX-License-Identifier: Apache-2.0

# UBSan is after the library's mistakes. Checked for them, the tests' own files take a third longer to compile.
define_property(TARGET PROPERTY SIDBEAM_UNDEFINED_UNCHECKED INITIALIZE_FROM_VARIABLE SIDBEAM_UNDEFINED_UNCHECKED)
set(unrolled_kernel_options "")
if(SIDBEAM_SANITIZE MATCHES undefined)
  target_compile_options(sidbeam_options INTERFACE
    $<$<BOOL:$<TARGET_PROPERTY:SIDBEAM_UNDEFINED_UNCHECKED>>:-fno-sanitize=undefined>)
  # Addresses beyond the address space: with that check clang takes up to three times as long for unrolled kernels
  # (products 44 s instead of 15), and AddressSanitizer sees what is read there.
  set(unrolled_kernel_options -fno-sanitize=pointer-overflow)
endif()

# unrolled_kernels(TARGET SOURCE ...)   of runtime/
function(unrolled_kernels target)
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/runtime/ OUTPUT_VARIABLE sources)
  set_property(SOURCE ${sources} TARGET_DIRECTORY ${target} APPEND PROPERTY COMPILE_OPTIONS ${unrolled_kernel_options})
endfunction()
unrolled_kernels(sidbeam_core backend/cpu/kernels.cc)
if(TARGET sidbeam_runner_core)
  unrolled_kernels(sidbeam_runner_core runner/attention/kernels.cc runner/hidden/dots.cc runner/math/elements.cc
    runner/math/product.cc runner/math/rows.cc)
endif()
