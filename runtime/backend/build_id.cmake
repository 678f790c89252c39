# Writes a header with an id of the sources that the core and its plugins share: cmake -DOUTPUT=... -DFOLDER=... -P
# SPDX-License-Identifier: Apache-2.0
file(GLOB_RECURSE sources RELATIVE ${FOLDER} ${FOLDER}/include/*.h ${FOLDER}/runtime/backend/*
  ${FOLDER}/runtime/index/*.h
     ${FOLDER}/runtime/support/*.h)
list(SORT sources)
set(hashes "")
foreach(source IN LISTS sources)
  file(SHA256 ${FOLDER}/${source} hash)
  string(APPEND hashes "${source} ${hash}\n")
endforeach()
string(SHA256 id "${hashes}")
string(SUBSTRING ${id} 0 16 id)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#pragma once

namespace sidbeam {

inline constexpr char kBuildId[] = \"${id}\";

}  // namespace sidbeam
")
