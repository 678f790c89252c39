# What an installation consists of: headers, the library, a CMake package and a pkg-config file. All are relocatable.
# SPDX-License-Identifier: Apache-2.0
include(CMakePackageConfigHelpers)

install(TARGETS sidbeam EXPORT sidbeam-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime
        NAMELINK_COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sidbeam DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/schemas/ DESTINATION ${CMAKE_INSTALL_DATADIR}/sidbeam/schemas
        COMPONENT development FILES_MATCHING PATTERN "*.fbs")
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/sidbeam COMPONENT runtime)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/sidbeam)
install(EXPORT sidbeam-targets NAMESPACE sidbeam:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(
  ${CMAKE_CURRENT_SOURCE_DIR}/sidbeam-config.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/sidbeam-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/sidbeam-config-version.cmake
                                 COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sidbeam-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/sidbeam-config-version.cmake
  DESTINATION ${package_dir} COMPONENT development)

# The prefix follows from where the .pc file lies, so that a moved installation still works.
file(RELATIVE_PATH prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/sidbeam.pc.in ${CMAKE_CURRENT_BINARY_DIR}/sidbeam.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sidbeam.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)
