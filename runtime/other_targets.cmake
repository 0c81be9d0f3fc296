# The runtime library for the targets of dlcc that are not this machine: dlcc-rt/TARGET/libdlcc_rt.a, for each target of
# which a C compiler and its headers are installed. On microcontrollers it has no threads.

# dlcc_runtime_for(TARGET COMPILER FLAG...): COMPILER is the prefix of the compiler's programs, as arm-none-eabi.
function(dlcc_runtime_for target compiler)
  find_program(DLCC_${compiler}_GCC ${compiler}-gcc)
  find_program(DLCC_${compiler}_AR ${compiler}-ar)
  mark_as_advanced(DLCC_${compiler}_GCC DLCC_${compiler}_AR)
  if(NOT DLCC_${compiler}_GCC OR NOT DLCC_${compiler}_AR)
    return()
  endif()
  set(sources ${runtime_sources})
  set(header pthread.h)
  if(compiler MATCHES "none|unknown") # no operating system
    list(FILTER sources EXCLUDE REGEX "/(pool|processors)\\.c$")
    set(header stdint.h)
  endif()
  # The headers are in a package of their own.
  execute_process(COMMAND ${DLCC_${compiler}_GCC} ${ARGN} -x c -include ${header} -fsyntax-only /dev/null
                  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(failed)
    return()
  endif()
  list(TRANSFORM sources REPLACE ".*/(.*)\\.c$" "\\1.o" OUTPUT_VARIABLE objects)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/include/dlcc/* ${CMAKE_CURRENT_SOURCE_DIR}/src/*.h
       ${CMAKE_CURRENT_SOURCE_DIR}/package/*.h)
  set(folder ${PROJECT_BINARY_DIR}/dlcc-rt/${target})
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${folder}/libdlcc_rt.a
    COMMAND ${DLCC_${compiler}_GCC} -std=c11 -O2 -ffunction-sections ${ARGN} -I${CMAKE_CURRENT_SOURCE_DIR}/include
            -c ${sources}
    COMMAND ${CMAKE_COMMAND} -E rm -f libdlcc_rt.a
    COMMAND ${DLCC_${compiler}_AR} rcsD libdlcc_rt.a ${objects}
    DEPENDS ${sources} ${headers}
    WORKING_DIRECTORY ${folder}
    VERBATIM)
  set(other_runtimes ${other_runtimes} ${folder}/libdlcc_rt.a PARENT_SCOPE)
endfunction()

if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "aarch64")
  dlcc_runtime_for(aarch64 aarch64-linux-gnu -fPIC)
endif()
dlcc_runtime_for(armv7-a arm-linux-gnueabihf -fPIC)
dlcc_runtime_for(riscv64 riscv64-linux-gnu -fPIC)
# For all cores, of programs with the calling convention without an FPU.
dlcc_runtime_for(riscv32 riscv64-unknown-elf -march=rv32im -mabi=ilp32 -ffreestanding)
# No function takes or returns floats: the libraries link with code of either calling convention.
foreach(core cortex-m0plus cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55)
  dlcc_runtime_for(${core} arm-none-eabi -mcpu=${core} -mthumb -mfloat-abi=soft -ffreestanding
                   -include ${CMAKE_CURRENT_SOURCE_DIR}/package/any_float_abi.h)
endforeach()
add_custom_target(dlcc_other_runtimes ALL DEPENDS ${other_runtimes})
