# CUDA as a language, for the plugin and for its benchmark. SPDX-License-Identifier: Apache-2.0
set(CMAKE_CUDA_COMPILER ${SIDBEAM_NVCC})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90-real 100)  # later ones by the PTX of the last
endif()
enable_language(CUDA)
# With a blank instead of CMake's "=" ccache knows the folder and finds what was compiled in another one.
set(CMAKE_INCLUDE_SYSTEM_FLAG_CUDA "-isystem ")
# CMake 3.25 does not know how nvcc is told.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
