# Runs vcpkg's port without vcpkg: its functions that the port calls, as far as the port needs them, with the system's
# packages in the place of vcpkg's. What this cannot show: that vcpkg's own versions of these packages fit.
#   cmake -DPORT=FOLDER -DBUILD=FOLDER -DPACKAGES=FOLDER [-DFEATURES=a;b] [-DOPTIONS=-Dx=y;..] -P vcpkg.cmake
# SPDX-License-Identifier: Apache-2.0
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endfunction()

# What is asked for is a feature of the port. Its dependencies are not looked at: the system has them all.
file(READ ${PORT}/vcpkg.json manifest)
string(JSON name GET "${manifest}" name)
string(JSON version GET "${manifest}" version)
foreach(feature IN LISTS FEATURES)
  string(JSON description GET "${manifest}" features ${feature} description)
endforeach()

function(vcpkg_check_linkage)
  if(NOT "${ARGV}" STREQUAL ONLY_DYNAMIC_LIBRARY)
    message(FATAL_ERROR "vcpkg_check_linkage: ${ARGV}")
  endif()
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 given "" OUT_FEATURE_OPTIONS FEATURES)
  set(options "")
  while(given_FEATURES)
    list(POP_FRONT given_FEATURES feature option)
    string(JSON description GET "${manifest}" features ${feature} description)
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${given_OUT_FEATURE_OPTIONS} "${options}" PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 given "" SOURCE_PATH OPTIONS)
  run(${CMAKE_COMMAND} -G Ninja -S ${given_SOURCE_PATH} -B ${BUILD} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${given_OPTIONS} ${OPTIONS})
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${BUILD} --target install)
endfunction()

function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 given "" CONFIG_PATH "")
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${given_CONFIG_PATH}/sidbeam-config.cmake)
    message(FATAL_ERROR "${given_CONFIG_PATH} has no sidbeam-config.cmake")
  endif()
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 given AUTO_CLEAN "" TOOL_NAMES)
  foreach(tool IN LISTS given_TOOL_NAMES)
    file(COPY ${CURRENT_PACKAGES_DIR}/bin/${tool} DESTINATION ${CURRENT_PACKAGES_DIR}/tools/${name})
  endforeach()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 given "" "" FILE_LIST)
  file(COPY ${given_FILE_LIST} DESTINATION ${CURRENT_PACKAGES_DIR}/share/${name})
endfunction()

set(CURRENT_PACKAGES_DIR ${PACKAGES})
set(CURRENT_HOST_INSTALLED_DIR ${PACKAGES}.host)
find_program(FLATC flatc REQUIRED)
file(CREATE_LINK ${FLATC} ${PACKAGES}.flatc SYMBOLIC)
file(MAKE_DIRECTORY ${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers)
file(RENAME ${PACKAGES}.flatc ${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc)
include(${PORT}/portfile.cmake)
