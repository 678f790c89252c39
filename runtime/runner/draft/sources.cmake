# Heads are read and written in files as the library's own are.
# SPDX-License-Identifier: Apache-2.0
foreach(source file_attributes leftovers output_file secret)
  target_sources(sidbeam_runner_core PRIVATE ${PROJECT_SOURCE_DIR}/runtime/support/${source}.cc)
endforeach()
add_dependencies(sidbeam_runner_core sidbeam_generated)
# What only these sources see: the schema's header, FlatBuffers, xxHash. As options, since the include directories of a
# source are not system ones; the system's own folder must not be named again.
set(runner_draft_options "")
foreach(folder ${PROJECT_BINARY_DIR}/runtime/generated ${FLATBUFFERS_INCLUDE} ${XXHASH_INCLUDE})
  if(NOT folder STREQUAL /usr/include)
    list(APPEND runner_draft_options -isystem ${folder})
  endif()
endforeach()
foreach(source capi cell checks cpu_decoder decoder format forward head head_forward header writer)
  target_sources(sidbeam_runner_core PRIVATE ${CMAKE_CURRENT_LIST_DIR}/${source}.cc)
  list(APPEND runner_draft_sources ${CMAKE_CURRENT_LIST_DIR}/${source}.cc)
endforeach()
foreach(source cuda_draft cuda_draft_head cuda_head_forward)
  list(APPEND runner_draft_sources ${CMAKE_CURRENT_SOURCE_DIR}/cuda/${source}.cc)
endforeach()
set_source_files_properties(${runner_draft_sources} PROPERTIES COMPILE_OPTIONS "${runner_draft_options}")
