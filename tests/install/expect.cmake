# Runs a program and asks for both exit status 0 and the output; ctest's PASS_REGULAR_EXPRESSION would ignore the
# status.
#   cmake -DEXPECT=REGEX -P expect.cmake -- PROGRAM ARGUMENT ...
# SPDX-License-Identifier: Apache-2.0
set(command "")
set(after_dashes OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  if(after_dashes)
    list(APPEND command "${CMAKE_ARGV${i}}")
  elseif(CMAKE_ARGV${i} STREQUAL "--")
    set(after_dashes ON)
  endif()
endforeach()
execute_process(COMMAND ${command} OUTPUT_VARIABLE out ERROR_VARIABLE err RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "exit status: expected 0, got ${result}\n${out}${err}")
elseif(NOT out MATCHES "${EXPECT}")
  message(FATAL_ERROR "output: expected ${EXPECT}, got\n${out}${err}")
endif()
message("${out}")
