# Files that appear whole and text without control characters, which the command compiles too: it writes files as the
# library does. They need the C library alone.
# SPDX-License-Identifier: Apache-2.0
set(sidbeam_file_sources error escape file_attributes leftovers output_file secret)
list(TRANSFORM sidbeam_file_sources PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/support/)
list(TRANSFORM sidbeam_file_sources APPEND .cc)
set_property(GLOBAL PROPERTY sidbeam_file_sources ${sidbeam_file_sources})
target_sources(sidbeam_core PRIVATE
  ${sidbeam_file_sources}
  support/arguments.cc
  support/codebook.cc
  support/cpu_target.cc
  support/executor.cc
  support/folder_watch.cc
  support/guard.cc
  support/hashing.cc
  support/mapped_file.cc
  support/memory.cc
  support/parallel.cc
  support/process.cc
  support/strides.cc
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(sidbeam_core PRIVATE support/hashing_avx2.cc support/hashing_avx512.cc)
  set_source_files_properties(support/hashing_avx2.cc PROPERTIES COMPILE_OPTIONS -mavx2)
  set_source_files_properties(support/hashing_avx512.cc PROPERTIES
    # g++ 12 takes the unused operand of its own masked intrinsics for uninitialised (GCC bug 105593).
    COMPILE_OPTIONS "-mavx512f;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>")
endif()
