# Toolchain for microcontrollers: cmake --toolchain arm-none-eabi.cmake -DCORE=cortex-m7. From the core's name,
# dlcc_add_model knows the target.
set(CORE cortex-m4 CACHE STRING "The CPU: cortex-m0plus, cortex-m3, cortex-m4, cortex-m7, cortex-m33 or cortex-m55")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CORE)

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR ${CORE})
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # a program would need a linker script
set(CMAKE_EXECUTABLE_SUFFIX_C .elf)

if(CORE MATCHES "^cortex-m(0plus|3)$")
  set(CMAKE_C_FLAGS_INIT "-mcpu=${CORE} -mthumb")
else()
  set(CMAKE_C_FLAGS_INIT "-mcpu=${CORE} -mthumb -mfloat-abi=hard")
endif()
