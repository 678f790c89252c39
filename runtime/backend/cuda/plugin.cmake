# The plugin for NVIDIA GPUs. It exports one function, and holds what it needs of CUDA but the driver.
# SPDX-License-Identifier: Apache-2.0
find_package(CUDAToolkit REQUIRED)

add_library(sidbeam_cuda SHARED support/error.cc support/escape.cc support/guard.cc)
include(backend/cuda/sources.cmake)
target_sources(sidbeam_cuda PRIVATE ${cuda_host_sources} ${cuda_kernel_sources})
add_dependencies(sidbeam_cuda sidbeam_generated)
target_include_directories(sidbeam_cuda PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_include_directories(sidbeam_cuda SYSTEM PRIVATE ${generated} ${FLATBUFFERS_INCLUDE})
target_compile_definitions(sidbeam_cuda PRIVATE $<$<BOOL:${SIDBEAM_NVTX}>:SIDBEAM_NVTX>)
# Scores have the bits that the CPU gives them, so products and sums are not fused there either.
target_compile_options(sidbeam_cuda PRIVATE
  $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter>
  $<$<COMPILE_LANGUAGE:CXX>:$<TARGET_PROPERTY:sidbeam_options,INTERFACE_COMPILE_OPTIONS>>)
set_target_properties(sidbeam_cuda PROPERTIES
  VERSION ${sidbeam_ABI_VERSION}.${PROJECT_VERSION} SOVERSION ${sidbeam_ABI_VERSION}
  CUDA_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY Static
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/backend/cuda/plugin.map)
target_link_libraries(sidbeam_cuda PRIVATE CUDA::cudart_static)
target_link_options(sidbeam_cuda PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/backend/cuda/plugin.map -Wl,-z,nodelete
  -Wl,-z,relro -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,--no-undefined)

install(TARGETS sidbeam_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cuda NAMELINK_SKIP)
