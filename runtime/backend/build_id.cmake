# Writes a header with an id of the sources that a library and its plugins share, beside the public headers and those of
# support: cmake -DOUTPUT=... -DFOLDER=... -DNAME=... "-DSHARED=PATTERN ..." -P
# SPDX-License-Identifier: Apache-2.0
separate_arguments(SHARED)
list(TRANSFORM SHARED PREPEND ${FOLDER}/)
file(GLOB_RECURSE sources RELATIVE ${FOLDER} ${FOLDER}/include/*.h ${FOLDER}/runtime/support/*.h ${SHARED})
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

inline constexpr char ${NAME}[] = \"${id}\";

}  // namespace sidbeam
")
