# The runner's plugin for NVIDIA GPUs. It exports one function. SPDX-License-Identifier: Apache-2.0
find_package(CUDAToolkit REQUIRED)

set(runtime ${PROJECT_SOURCE_DIR}/runtime)
include(cuda/sources.cmake)
list(TRANSFORM runner_cuda_host_sources PREPEND ${runtime}/)
list(TRANSFORM runner_cuda_kernel_sources PREPEND ${runtime}/)
# Objects, since tests/gpu/runner/times.cc times the kernels themselves.
add_library(sidbeam_runner_cuda_kernels OBJECT ${runner_cuda_kernel_sources})
target_include_directories(sidbeam_runner_cuda_kernels PRIVATE ${runtime} ${PROJECT_SOURCE_DIR}/include)
# Unlike the core's plugin it has no bits in common with the CPU, so that the compiler may fuse.
target_compile_options(sidbeam_runner_cuda_kernels PRIVATE
  --expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-Wno-unused-parameter)
set_target_properties(sidbeam_runner_cuda_kernels PROPERTIES CUDA_VISIBILITY_PRESET hidden)
add_library(sidbeam_runner_cuda SHARED ${runner_cuda_host_sources} $<TARGET_OBJECTS:sidbeam_runner_cuda_kernels>
  ${runtime}/support/error.cc ${runtime}/support/escape.cc ${runtime}/support/guard.cc)
add_dependencies(sidbeam_runner_cuda sidbeam_runner_generated)
target_include_directories(sidbeam_runner_cuda PRIVATE ${runtime} ${PROJECT_SOURCE_DIR}/include ${runner_generated})
target_compile_definitions(sidbeam_runner_cuda PRIVATE $<$<BOOL:${SIDBEAM_NVTX}>:SIDBEAM_NVTX>)
target_compile_options(sidbeam_runner_cuda PRIVATE $<TARGET_PROPERTY:sidbeam_options,INTERFACE_COMPILE_OPTIONS>)
set_target_properties(sidbeam_runner_cuda PROPERTIES
  VERSION ${sidbeam_RUNNER_ABI_VERSION}.${PROJECT_VERSION} SOVERSION ${sidbeam_RUNNER_ABI_VERSION}
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cuda/plugin.map)
target_link_libraries(sidbeam_runner_cuda PRIVATE CUDA::cudart_static CUDA::cublasLt)
target_link_options(sidbeam_runner_cuda PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cuda/plugin.map -Wl,-z,nodelete
  -Wl,-z,relro -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,--no-undefined)

install(TARGETS sidbeam_runner_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT cuda NAMELINK_SKIP)
