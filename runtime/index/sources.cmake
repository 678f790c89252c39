# SPDX-License-Identifier: Apache-2.0
target_sources(sidbeam_core PRIVATE
  index/fingerprint.cc
  index/format.cc
  index/header.cc
  index/header_checks.cc
  index/index.cc
  index/names.cc
  index/attributes/digest.cc
  index/attributes/find.cc
  index/attributes/sections.cc
  index/attributes/shape.cc
  index/arrow/arrays.cc
  index/arrow/attributes.cc
  index/arrow/columns.cc
  index/arrow/ids.cc
  index/arrow/schema.cc
  index/arrow/sids.cc
  index/arrow/stream.cc
  index/build/arrow.cc
  index/build/attribute_scan.cc
  index/build/attributes.cc
  index/build/builder.cc
  index/build/catalogue.cc
  index/build/column_digests.cc
  index/build/emit.cc
  index/build/emit_attributes.cc
  index/build/emit_hash.cc
  index/build/emit_tail.cc
  index/build/plan.cc
  index/build/radix.cc
  index/build/scan.cc
  index/build/sorted.cc
  index/build/strings.cc
  index/read/children.cc
  index/read/item_lists.cc
  index/read/items.cc
  index/read/lookup.cc
  index/read/open.cc
  index/read/prefix_states.cc
  index/read/repeats.cc
  index/read/used_codes.cc
  index/read/value_cap.cc
  index/rules/bit_kernels.cc
  index/rules/compile.cc
  index/rules/derived.cc
  index/rules/expression.cc
  index/rules/id_table.cc
  index/rules/leaves.cc
  index/rules/lex.cc
  index/rules/lists.cc
  index/rules/parse.cc
  index/rules/print.cc
  index/rules/roaring.cc
  index/rules/row_sets.cc
  index/rules/row_starts.cc
  index/rules/terms.cc
  index/rules/update.cc
  index/verify/bulk_kernels.cc
  index/verify/explain.cc
  index/verify/header_fingerprint.cc
  index/verify/plain_sids.cc
  index/verify/plain_trie.cc
  index/verify/section_sums.cc
  index/verify/sid_edges.cc
  index/verify/verify.cc
  index/verify/verify_attributes.cc
  index/verify/verify_hash.cc
  index/verify/verify_items.cc
  index/verify/verify_sids.cc
  index/verify/verify_trie.cc
)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(sidbeam_core PRIVATE index/verify/bulk_avx2.cc index/verify/bulk_avx512.cc)
  set_source_files_properties(index/verify/bulk_avx2.cc PROPERTIES COMPILE_OPTIONS -mavx2)
  set_source_files_properties(index/verify/bulk_avx512.cc PROPERTIES
    # As for support/hashing_avx512.cc.
    COMPILE_OPTIONS "-mavx512bw;-mavx512dq;-mavx512vl;-mpopcnt;$<$<CXX_COMPILER_ID:GNU>:-Wno-uninitialized>")
endif()
