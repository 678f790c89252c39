# What an installation has of the importers beside their headers, which are always there (runtime/runner/install.cmake).
# SPDX-License-Identifier: Apache-2.0
install(TARGETS sidbeam_import EXPORT sidbeam-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT import
        NAMELINK_COMPONENT development)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/sidbeam-import.pc.in ${CMAKE_CURRENT_BINARY_DIR}/sidbeam-import.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sidbeam-import.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)
