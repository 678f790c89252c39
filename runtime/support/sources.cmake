target_sources(sidbeam_core PRIVATE
  support/error.cc
  support/executor.cc
  support/hashing.cc
  support/mapped_file.cc
  support/memory.cc
  support/output_file.cc
  support/parallel.cc
)
