# dlcc_add_model(NAME MODEL [PREFIX p] [TARGET t] [CPU c] [DIMS n=8 ...] [THREADS n] [OPTIONS option ...])
#
# Defines the library NAME: the object that dlcc makes of the file MODEL, and the folder of the generated header NAME.h. A
# program that links NAME includes that header. dlcc runs again when the model, a file that the model refers to, or dlcc has
# changed, and when the object or the header is missing.
#
#   NAME      the library, and the name of the header without .h
#   MODEL     ONNX or Relay text: a path from the current source folder, or the full path of a file that this folder generates
#   PREFIX    prefix of the C interface; default: NAME
#   TARGET    a target of `dlcc targets`; default: that of CMAKE_SYSTEM_PROCESSOR, which a toolchain file for a
#             microcontroller sets to its core, as cortex-m4
#   CPU       the CPU, CPU levels or `native`, as with -mcpu; default: the levels that the target names
#   DIMS      sizes of symbolic dimensions, NAME=SIZES each as for --dim: batch=8, seq=1..512
#   THREADS   threads of the compiled model, default 1; with more, NAME links dlcc::rt, which has the thread pool
#   OPTIONS   further options of dlcc, such as -O3; the build does not know the files that they write
#
# The target dlcc::dlcc is the compiler: the installed one after find_package(dlcc), or the one that is built with the project
# after add_subdirectory or FetchContent of dlcc's sources. The generator is Ninja or Unix Makefiles.
include_guard(GLOBAL)
cmake_policy(VERSION 3.20...3.25)

# The target of dlcc for CMAKE_SYSTEM_PROCESSOR; empty if there is none.
function(_dlcc_default_target result)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
    set(${result} x86-64 PARENT_SCOPE)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
    set(${result} aarch64 PARENT_SCOPE)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^armv7(-?a|l|hl?)?$")
    set(${result} armv7-a PARENT_SCOPE)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(cortex-m(0plus|3|4|7|33|55)|riscv(32|64))$")
    set(${result} ${CMAKE_SYSTEM_PROCESSOR} PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# Stops with a message that begins with the name of the call's library.
macro(_dlcc_fail)
  message(FATAL_ERROR "dlcc_add_model(${name}): " ${ARGN})
endmacro()

# Checks the parsed arguments arg_*, in the scope of dlcc_add_model.
macro(_dlcc_check_arguments)
  if(arg_UNPARSED_ARGUMENTS)
    list(GET arg_UNPARSED_ARGUMENTS 0 unknown)
    _dlcc_fail("unknown argument '${unknown}' where PREFIX, TARGET, CPU, DIMS, THREADS or OPTIONS is expected")
  endif()
  if(TARGET ${name})
    _dlcc_fail("there is a target of this name already: give each model a name of its own")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    _dlcc_fail("no value follows ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  foreach(dim ${arg_DIMS})
    if(NOT dim MATCHES "^[^=]+=.+$")
      _dlcc_fail("'${dim}' after DIMS is not NAME=VALUE, e.g. batch=8")
    endif()
  endforeach()
  if(NOT arg_THREADS MATCHES "^[1-9][0-9]*$")
    _dlcc_fail("THREADS is '${arg_THREADS}', not a number of threads")
  endif()
  get_source_file_property(generated ${path} GENERATED)
  if(NOT generated AND (NOT EXISTS ${path} OR IS_DIRECTORY ${path}))
    _dlcc_fail("there is no model file ${path}")
  endif()
  if(NOT TARGET dlcc::dlcc)
    _dlcc_fail("there is no target dlcc::dlcc: call find_package(dlcc REQUIRED) in this folder or above it")
  endif()
  if(arg_THREADS GREATER 1 AND NOT TARGET dlcc::rt)
    _dlcc_fail("THREADS needs the runtime, which is compiled for this processor: add C to the languages of the project")
  endif()
endmacro()

function(dlcc_add_model)
  if(ARGC LESS 2)
    message(FATAL_ERROR "dlcc_add_model(${ARGV}): the name of the library and the file of the model are expected")
  endif()
  set(name ${ARGV0})
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PREFIX;TARGET;CPU;THREADS" "DIMS;OPTIONS")
  if(NOT DEFINED arg_THREADS)
    set(arg_THREADS 1)
  endif()
  get_filename_component(path "${ARGV1}" ABSOLUTE)
  _dlcc_check_arguments()
  if(NOT arg_TARGET)
    _dlcc_default_target(arg_TARGET)
  endif()
  if(NOT arg_TARGET)
    _dlcc_fail("there is no default target for the processor '${CMAKE_SYSTEM_PROCESSOR}' (CMAKE_SYSTEM_PROCESSOR): give "
               "TARGET, one of those that `dlcc targets` lists")
  endif()

  set(options --target ${arg_TARGET})
  if(arg_CPU)
    list(APPEND options -mcpu=${arg_CPU})
  endif()
  if(arg_PREFIX)
    list(APPEND options --prefix ${arg_PREFIX})
  endif()
  if(arg_THREADS GREATER 1)
    list(APPEND options --threads ${arg_THREADS})
  endif()
  foreach(dim ${arg_DIMS})
    list(APPEND options --dim ${dim})
  endforeach()

  # A folder for each model, so that a program sees only the headers of the models that it links.
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/dlcc_models/${name})
  set(object ${folder}/${name}.o)
  set(header ${folder}/${name}.h)
  file(MAKE_DIRECTORY ${folder})
  add_custom_command(
    OUTPUT ${object} ${header}
    COMMAND dlcc::dlcc ${path} -o ${object} ${options} ${arg_OPTIONS} -MD -MF ${object}.d
    DEPENDS ${path} dlcc::dlcc
    DEPFILE ${object}.d
    COMMENT "Compiling the model ${ARGV1}"
    VERBATIM)

  add_library(${name} STATIC ${object} ${header})
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE)
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if("C" IN_LIST languages)
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE C)
  else()
    set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX)
  endif()
  target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${folder}>)
  if(arg_THREADS GREATER 1)
    target_link_libraries(${name} INTERFACE dlcc::rt)
  endif()
endfunction()
