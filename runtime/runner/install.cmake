# What an installation has of the runner beside its headers, which are always there, since bindings are compiled against
# them and load the library when it is asked for: the library, its target in the CMake package, a pkg-config file.
# SPDX-License-Identifier: Apache-2.0
install(TARGETS sidbeam_runner EXPORT sidbeam-targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runner
        NAMELINK_COMPONENT development)
configure_file(${CMAKE_CURRENT_SOURCE_DIR}/sidbeam-runner.pc.in ${CMAKE_CURRENT_BINARY_DIR}/sidbeam-runner.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sidbeam-runner.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)
