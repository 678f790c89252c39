# Debian packages, by the components of the install rules: `cpack --config build/release/CPackConfig.cmake
# -B build/packages`. Libraries go where the tree was configured to put them: /usr/lib, or, configured with
# -DCMAKE_INSTALL_PREFIX=/usr, the folder of the architecture. SPDX-License-Identifier: Apache-2.0
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "sidbeam developers <developers@sidbeam.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "beam search over Semantic IDs that returns only items that exist")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL "")
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Besides those of this build, cuBLASLt's, which the runner's plugin needs and no package of Debian's has.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_BINARY_DIR}/runtime ${CMAKE_BINARY_DIR}/runtime/runner
  ${CMAKE_BINARY_DIR}/bindings/import)
if(SIDBEAM_CUDA AND SIDBEAM_RUNNER)
  find_package(CUDAToolkit REQUIRED)
  list(APPEND CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CUDAToolkit_LIBRARY_DIR})
endif()
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")

# Debian's policy wants a changelog; its text is of packaging alone.
set(changelog ${CMAKE_BINARY_DIR}/debian/changelog.gz)
configure_file(${CMAKE_CURRENT_LIST_DIR}/changelog ${CMAKE_BINARY_DIR}/debian/changelog @ONLY)
# gzip, not file(ARCHIVE_CREATE), which puts the time in.
execute_process(COMMAND gzip -9nc ${CMAKE_BINARY_DIR}/debian/changelog OUTPUT_FILE ${changelog})

# sidbeam_package(COMPONENT NAME SECTION DEPENDS CONTENT)   what shared libraries need comes to DEPENDS by itself
macro(sidbeam_package component name section depends content)
  string(TOUPPER ${component} key)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(CPACK_DEBIAN_${key}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${key}_PACKAGE_SECTION ${section})
  set(CPACK_DEBIAN_${key}_PACKAGE_DEPENDS "${depends}")
  set(CPACK_DEBIAN_${key}_DESCRIPTION
      "It turns the logits of generative recommenders into items.\nThis package has ${content}.")
  # Of a package alone: an ordinary installation has the licence itself, once.
  install(FILES ${CMAKE_CURRENT_LIST_DIR}/copyright ${changelog} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

set(library libsidbeam${sidbeam_ABI_VERSION})
set(same_library "${library} (= ${PROJECT_VERSION})")
sidbeam_package(runtime ${library} libs "" "the library")
# Policy wants the trigger; the scripts that CPack writes call ldconfig besides.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
set(libraries "${same_library}")
if(SIDBEAM_RUNNER)
  set(runner libsidbeam-runner${sidbeam_RUNNER_ABI_VERSION})
  sidbeam_package(runner ${runner} libs "${same_library}" "the library that runs models")
  set(CPACK_DEBIAN_RUNNER_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
  string(APPEND libraries ", ${runner} (= ${PROJECT_VERSION})")
endif()
if(SIDBEAM_IMPORT)
  set(import libsidbeam-import${sidbeam_IMPORT_ABI_VERSION})
  sidbeam_package(import ${import} libs "${same_library}" "the library that reads catalogues")
  set(CPACK_DEBIAN_IMPORT_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
  string(APPEND libraries ", ${import} (= ${PROJECT_VERSION})")
endif()
sidbeam_package(development libsidbeam-dev libdevel "${libraries}" "the headers, and what CMake and pkg-config need")
if(SIDBEAM_CLI)
  sidbeam_package(tools sidbeam-tools utils "${libraries}" "the sidbeam command")
endif()
if(SIDBEAM_CUDA)
  sidbeam_package(cuda libsidbeam-cuda${sidbeam_ABI_VERSION} libs "${same_library}"
                  "the library's plugin for NVIDIA GPUs")
  set(CPACK_DEBIAN_CUDA_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/triggers)
endif()
include(CPack)
