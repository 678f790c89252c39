# vcpkg's port, of the checkout that it lies in: `vcpkg install sidbeam --overlay-ports=runtime/release/vcpkg`.
# SPDX-License-Identifier: Apache-2.0
vcpkg_check_linkage(ONLY_DYNAMIC_LIBRARY)
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS features FEATURES
  import SIDBEAM_IMPORT
  runner SIDBEAM_RUNNER
  tools SIDBEAM_CLI)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${features} -DSIDBEAM_TESTS=OFF -DSIDBEAM_SAMPLES=OFF -DSIDBEAM_CUDA=OFF -DSIDBEAM_WERROR=OFF
          "-DFLATC=${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc${VCPKG_HOST_EXECUTABLE_SUFFIX}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/sidbeam)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
  vcpkg_copy_tools(TOOL_NAMES sidbeam AUTO_CLEAN)
endif()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
