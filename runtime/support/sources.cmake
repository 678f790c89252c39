target_sources(sidbeam_core PRIVATE
  support/error.cc
  support/executor.cc
  support/hashing.cc
  support/mapped_file.cc
  support/memory.cc
  support/output_file.cc
  support/parallel.cc
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(sidbeam_core PRIVATE support/hashing_avx2.cc)
  set_source_files_properties(support/hashing_avx2.cc PROPERTIES COMPILE_OPTIONS -mavx2)
endif()
