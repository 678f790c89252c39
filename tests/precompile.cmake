# Standard headers are read once for a target, or once for several whose flags agree. Tests always do so; the library
# and, with clang, the command do with SIDBEAM_PRECOMPILE. That their includes are complete is proved by clang-tidy,
# which reads each file by itself (tidy.py).
# SPDX-License-Identifier: Apache-2.0

# precompile(TARGET HEADER ...)   the headers, and those that most files here include
function(precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <array> <atomic> <cstdint> <cstring> <functional>
    <memory> <mutex> <random> <span> <string> <thread> <vector>)
  precompiled_options(${target})
endfunction()

# precompile_as(OTHER TARGET ...)   takes those of OTHER: all of them libraries or all of them programs, and all or none
# of them with -O0. Definitions may differ.
function(precompile_as other)
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM ${other})
    precompiled_options(${target})
  endforeach()
endfunction()

# precompiled_program(NAME HEADER ...)   makes a program that has headers and nothing else, for others to take
function(precompiled_program name)
  file(CONFIGURE OUTPUT ${name}.cc CONTENT "int main() {}\n")
  add_executable(${name} EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE sidbeam_options)
  precompile(${name} ${ARGN})
endfunction()

# ccache needs these to reuse objects; without them clang's header would record when its own headers were written.
function(precompiled_options target)
  target_compile_options(${target} PRIVATE
    $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess> "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

function(precompile_library)
  precompile(sidbeam_core)
  # Files with options of their own, or with Highway's. (With sanitizers clang's optimiser takes half a minute for some
  # of these. -O0 was tried: their tests and the fuzzers take longer by more than that.)
  set(own backend/cpu/kernels.cc support/hashing_avx2.cc support/hashing_avx512.cc index/verify/bulk_avx2.cc
          index/verify/bulk_avx512.cc)
  list(TRANSFORM own PREPEND ${PROJECT_SOURCE_DIR}/runtime/)
  set_source_files_properties(${own} TARGET_DIRECTORY sidbeam_core PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  if(TARGET sidbeam_runner_core)
    precompile(sidbeam_runner_core)
    set(own attention/kernels.cc math/product.cc math/rows.cc)
    list(TRANSFORM own PREPEND ${PROJECT_SOURCE_DIR}/runtime/runner/)
    set_source_files_properties(${own} TARGET_DIRECTORY sidbeam_runner_core PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  # Not with g++ 12, which then sees strings of negative length.
  if(TARGET sidbeam_cli AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
    precompile(sidbeam_cli)
  endif()
endfunction()
