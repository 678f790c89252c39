# Targets with many files read the standard headers once; each target on its own, since flags must agree. Tests always
# do; the library and the command do with SIDBEAM_PRECOMPILE, while another build proves that their includes are
# complete.
# SPDX-License-Identifier: Apache-2.0

# precompile(TARGET HEADER ...)   the headers, and those that most files here include
function(precompile target)
  target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <array> <atomic> <cstdint> <cstring> <functional>
    <memory> <mutex> <random> <span> <string> <thread> <vector>)
  # ccache needs these to reuse objects; without them clang's header would record when its own headers were written.
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
  if(TARGET sidbeam_cli)
    precompile(sidbeam_cli <nlohmann/json.hpp>)
  endif()
endfunction()
