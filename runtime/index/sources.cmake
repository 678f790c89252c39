target_sources(sidbeam_core PRIVATE
  index/builder.cc
  index/catalogue.cc
  index/children.cc
  index/emit.cc
  index/emit_hash.cc
  index/emit_tail.cc
  index/fingerprint.cc
  index/format.cc
  index/header.cc
  index/header_checks.cc
  index/items.cc
  index/lookup.cc
  index/names.cc
  index/open.cc
  index/plan.cc
  index/prefix_states.cc
  index/radix.cc
  index/scan.cc
  index/sorted.cc
  index/used_codes.cc
  index/verify.cc
  index/verify_blocks.cc
  index/verify_columns.cc
  index/verify_hash.cc
  index/verify_plain.cc
  index/verify_sids.cc
  index/verify_tail.cc
  index/verify_trie.cc
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(sidbeam_core PRIVATE index/verify_avx2.cc index/verify_avx512.cc)
  set_source_files_properties(index/verify_avx2.cc PROPERTIES COMPILE_OPTIONS -mavx2)
  set_source_files_properties(index/verify_avx512.cc PROPERTIES
    # As for support/hashing_avx512.cc.
    COMPILE_OPTIONS "-mavx512bw;-mavx512dq;-mavx512vl;-mpopcnt;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>")
endif()
