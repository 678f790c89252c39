target_sources(sidbeam_core PRIVATE
  support/error.cc
  support/executor.cc
  support/guard.cc
  support/hashing.cc
  support/mapped_file.cc
  support/memory.cc
  support/output_file.cc
  support/parallel.cc
  support/process.cc
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(sidbeam_core PRIVATE support/hashing_avx2.cc support/hashing_avx512.cc)
  set_source_files_properties(support/hashing_avx2.cc PROPERTIES COMPILE_OPTIONS -mavx2)
  set_source_files_properties(support/hashing_avx512.cc PROPERTIES
    # g++ 12 takes the unused operand of its own masked intrinsics for uninitialised (GCC bug 105593).
    COMPILE_OPTIONS "-mavx512f;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>")
endif()
