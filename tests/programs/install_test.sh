#!/usr/bin/env bash
# dlcc is installed in an empty folder and used from there as by other projects: the examples, CMake with both generators,
# make, pkg-config, the runtime's sources. It is also used by a project that contains dlcc's sources.
# install_test.sh DLCC SOURCE_FOLDER WORK_FOLDER MODEL_WITH_EXTERNAL_DATA
set -euo pipefail
build=$(dirname "$(realpath "$1")") external=$(realpath "$4")
source "$(dirname "$0")/begin.sh"
# needs PROGRAM...: false, and a line of text, if one of the programs is not installed.
needs() {
  local program
  for program in "$@"; do
    command -v "$program" >/dev/null || { echo "not tested: $program is not installed"; return 1; }
  done
}
# expect_change yes|no FILE COMMAND...: whether the command writes the file.
expect_change() {
  local written=no
  touch marker
  "${@:3}" >log.txt 2>&1 || fail "${*:3}: $(cat log.txt)"
  [ ! "$2" -nt marker ] || written=yes
  [ $written = "$1" ] || fail "written: $written, expected: $1: $2 by ${*:3}: $(cat log.txt)"
}

# The folder is moved after the installation: no file may name it.
cmake --install "$build" --strip --prefix "$PWD/elsewhere" >installed.txt
mv elsewhere prefix
prefix=$PWD/prefix
PATH=$prefix/bin:$PATH
export CMAKE_PREFIX_PATH=$prefix PKG_CONFIG_PATH=$prefix/lib/pkgconfig
! grep -rIl "$work\|$source" prefix || fail "these files name folders of this machine"
[ "$(dlcc --version)" = "$("$build/dlcc" --version)" ] || fail "another program is installed"
for file in doc/dlcc/{README.md,LICENSE,copyright,docs/ABI.md,examples/ci-benchmark/benchmark.py} \
  bash-completion/completions/dlcc zsh/vendor-completions/_dlcc fish/vendor_completions.d/dlcc.fish; do
  [ -s "prefix/share/$file" ] || fail "$file is not installed"
done
[ "$(dlcc --print-runtime-dir)" = "$prefix/lib" ] || fail "--print-runtime-dir prints $(dlcc --print-runtime-dir)"
for page in dlcc dlcc-check $(dlcc --print-commands | sed 's/^/dlcc-/'); do
  [ -e "prefix/share/man/man1/$page.1.gz" ] || fail "there is no manual page of $page"
  name=$(gzip -dc "prefix/share/man/man1/$page.1.gz" | sed -n '/^\.SH NAME$/{n;s/\\//g;s/ - .*//p}')
  [ "$name" = "$page" ] || fail "the manual page of $page is that of '$name'"
done
cp -r prefix/share/doc/dlcc/examples .
echo "installed"

# The example is built with the commands of its README.md; changes of its files compile the right models again.
sed -n 's/^    //p' examples/cmake/README.md >commands.sh
check_example() {
  local folder=examples/cmake/build make=(cmake --build examples/cmake/build)
  rm -rf $folder
  (cd examples/cmake && CMAKE_GENERATOR=$1 bash -e ../../commands.sh) >readme.txt
  grep -q '^4 (' readme.txt || fail "the commands of examples/cmake/README.md print: $(cat readme.txt)"
  expect_change no $folder/classify "${make[@]}"
  for file in digits.h digits.o; do
    rm $folder/dlcc_models/digits/$file
    expect_change yes $folder/classify "${make[@]}"
  done
  for file in examples/digits/digits.onnx prefix/bin/dlcc; do
    touch $file
    expect_change yes $folder/dlcc_models/digits/digits.h "${make[@]}"
  done
  touch examples/digits/digits.onnx
  expect_change no $folder/dlcc_models/prepare/prepare.h "${make[@]}"
  echo "examples/cmake with $1"
}
check_example Ninja
check_example "Unix Makefiles"

# All arguments of dlcc_add_model; a generated model, and a model with external data; a program in C or in C++.
mkdir project
cp "$external" project/external.onnx
head -c 16 /dev/zero >project/weights.bin
cat >project/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.20)
project(models LANGUAGES \${LANGUAGE})
find_package(dlcc 0.1 REQUIRED)
add_custom_command(OUTPUT generated.rly COMMAND \${CMAKE_COMMAND} -E copy $source/tests/programs/threads.rly generated.rly)
dlcc_add_model(layers \${CMAKE_CURRENT_BINARY_DIR}/generated.rly PREFIX net THREADS 2 CPU \${CPU} OPTIONS -Os --accuracy strict)
dlcc_add_model(prepare $source/examples/cmake/prepare.rly DIMS height=3 width=5)
dlcc_add_model(external external.onnx)
add_executable(models main.\${SUFFIX})
target_link_libraries(models PRIVATE layers prepare external)
END
cat >project/main.c <<'END'
#include <stdio.h>

#include "dlcc/dlcc.h"
#include "external.h"
#include "layers.h"
#include "prepare.h"

int main(void) {
  dlcc_stop_threads();
  puts(net_model.provenance);
  return net_run(NULL, NULL, NULL, 0) != DLCC_NULL_ARGUMENT || dlcc_element_count(prepare_model.outputs) != 15 ||
         external_model.input_count != 1;
}
END
cp project/main.c project/main.cxx
# check_project FOLDER LANGUAGE TARGET CPU RUN CMAKE_OPTION...
check_project() {
  cmake -S project -B "$1" -DLANGUAGE="$2" -DSUFFIX="${2,,}" -DCPU="$4" "${@:6}" >"$1.txt"
  expect_change yes "$1/models" cmake --build "$1"
  $5 "$1/models" >output.txt || fail "the program of $1 fails"
  grep -q " --target $3 -mcpu=$4 -Os --accuracy=strict --threads=2 " output.txt || fail "other options: $(cat output.txt)"
  touch project/weights.bin
  expect_change yes "$1/dlcc_models/external/external.h" cmake --build "$1"
}
case $(uname -m) in
  x86_64) native="x86-64 x86-64-v3" ;;
  *) native="aarch64 generic" ;;
esac
check_project of_ninja CXX $native env -G Ninja
check_project of_makefiles C $native env -G "Unix Makefiles"
echo "dlcc_add_model"
if needs aarch64-linux-gnu-gcc qemu-aarch64; then
  check_project cross C aarch64 cortex-a76 "qemu-aarch64 -L /usr/aarch64-linux-gnu" -DCMAKE_SYSTEM_NAME=Linux \
    -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc
  cmake -S examples/cmake -B bare -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_C_COMPILER=aarch64-linux-gnu-gcc -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY >bare.txt
  cmake --build bare --target dlcc_rt >bare.txt
  [ "$(ar t bare/libdlcc_rt.a | cut -d. -f1 | xargs)" = "model status weights" ] || fail "the runtime of a microcontroller has threads"
  echo "for other processors"
fi

# Wrong arguments after the name of the model, and their messages.
mkdir calls
cat >calls/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(calls LANGUAGES ${LANGUAGE})
if(NOT WITHOUT_PACKAGE)
  find_package(dlcc REQUIRED)
endif()
include($ENV{CMAKE_PREFIX_PATH}/lib/cmake/dlcc/dlcc_add_model.cmake)
add_custom_target(taken)
cmake_language(EVAL CODE "dlcc_add_model(${CALL})")
END
expect_message() {
  ! cmake -S calls -B calls/build -DLANGUAGE=C "-DCALL=$1" "${@:3}" >/dev/null 2>message.txt || fail "dlcc_add_model($1) is accepted"
  tr -s ' \n' '  ' <message.txt | grep -qF -- "$2" || fail "dlcc_add_model($1): $(cat message.txt)"
}
model=$source/examples/digits/digits.onnx
expect_message "" "the name of the library and the file of the model are expected"
expect_message "m" "the name of the library and the file of the model are expected"
expect_message "m missing.onnx" "dlcc_add_model(m): there is no model file $PWD/calls/missing.onnx"
expect_message "m $source" "there is no model file"
expect_message "taken $model" "dlcc_add_model(taken): there is a target of this name already"
expect_message "m $model DIM n=8" "unknown argument 'DIM' where PREFIX, TARGET, CPU, DIMS, THREADS or OPTIONS is expected"
expect_message "m $model CPU" "no value follows CPU"
expect_message "m $model DIMS n=8 batch" "'batch' after DIMS is not NAME=VALUE"
expect_message "m $model THREADS many" "THREADS is 'many', not a number"
rm -r calls/build
expect_message "m $model" "there is no default target for the processor 'mips64'" -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=mips64
rm -r calls/build
expect_message "m $model THREADS 2" "add C to the languages of the project" -DCMAKE_SYSTEM_NAME=Linux \
  -DCMAKE_SYSTEM_PROCESSOR=sparc64 -DLANGUAGE=CXX
rm -r calls/build
expect_message "m $model" "call find_package(dlcc REQUIRED)" -DWITHOUT_PACKAGE=ON
echo "messages of dlcc_add_model"

# The README's rules for make and CMake.
readme_block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p}" prefix/share/doc/dlcc/README.md; }
mkdir readme
cp examples/digits/{main.c,samples.h,digits.onnx} readme
readme_block make >readme/Makefile
readme_block cmake >readme/CMakeLists.txt
expect_change yes readme/main make -C readme
for file in digits.h digits.o; do
  rm readme/$file
  expect_change yes readme/digits.h make -C readme -j2
  [ -e readme/$file ] || fail "make does not make $file"
done
touch readme/digits.onnx
expect_change yes readme/main make -C readme
make -C readme >log.txt
expect_change no readme/main make -C readme
cmake -S readme -B readme/build >readme/cmake.txt
expect_change yes readme/build/main cmake --build readme/build
readme/build/main >samples.txt
readme/main | cmp - samples.txt
echo "README.md"

# The runtime through pkg-config, and its sources compiled without a C library, as for firmware.
dlcc "$source/tests/programs/threads.rly" -o threads.o --threads=2
cat >threads.c <<'END'
#include "dlcc/dlcc.h"
#include "threads.h"
int main(void) { return threads_run(0, 0, 0, 0) == DLCC_NULL_ARGUMENT && *dlcc_status_string(DLCC_OK) ? 0 : 1; }
END
if needs pkg-config; then
  gcc -std=c11 -Wall -Wextra -Werror -I. threads.c threads.o $(pkg-config --cflags --libs dlcc-rt) -o threads
  ./threads
  [ "$(realpath "$(pkg-config --variable=runtimedir dlcc-rt)")" = "$(realpath prefix/share/dlcc/runtime)" ] || fail "runtimedir"
fi
runtime=prefix/share/dlcc/runtime warnings="-std=c11 -Wall -Wextra -Werror"
gcc $warnings -I. -I$runtime/include threads.c threads.o $runtime/src/*.c -lpthread -o threads_from_sources
./threads_from_sources
for file in model status weights; do
  gcc $warnings -ffreestanding -nostdlib -I$runtime/include -c $runtime/src/$file.c -o $file.o
  ! nm --undefined-only $file.o | grep . || fail "$file.c needs a library"
done
echo "the runtime"

# The libraries of other targets.
if needs aarch64-linux-gnu-gcc qemu-aarch64; then
  dlcc "$source/tests/programs/threads.rly" -o threads_aarch64.o --prefix threads --threads=2 --target aarch64
  aarch64-linux-gnu-gcc -std=c11 -I. -Iprefix/include threads.c threads_aarch64.o prefix/lib/dlcc-rt/aarch64/libdlcc_rt.a \
    -lpthread -o threads_aarch64
  qemu-aarch64 -L /usr/aarch64-linux-gnu threads_aarch64
fi
if needs arm-none-eabi-gcc; then
  for core in cortex-m0plus cortex-m3 cortex-m4 cortex-m7 cortex-m33 cortex-m55; do
    library=prefix/lib/dlcc-rt/$core/libdlcc_rt.a
    [ "$(ar t $library | xargs)" = "model.o status.o weights.o" ] || fail "$library has $(ar t $library)"
  done
  echo 'const char *dlcc_status_string(int); int start(float x) { return *dlcc_status_string((int)x); }' >start.c
  for abi in soft hard; do
    arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=$abi -nostdlib -e start start.c \
      prefix/lib/dlcc-rt/cortex-m4/libdlcc_rt.a -lgcc -o start.elf
  done
  # A project without C cannot compile the sources.
  cat >calls/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.20)
project(calls LANGUAGES NONE)
find_package(dlcc REQUIRED)
get_target_property(library dlcc::rt IMPORTED_LOCATION)
message(STATUS "the runtime is ${library}")
END
  rm -r calls/build
  cmake -S calls -B calls/build -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_SYSTEM_PROCESSOR=cortex-m4 >calls.txt
  grep -qF "the runtime is $prefix/lib/dlcc-rt/cortex-m4/libdlcc_rt.a" calls.txt || fail "dlcc::rt: $(cat calls.txt)"
fi
echo "the runtime of other targets"

# The Debian package, without the time for its compression.
if needs dpkg-deb dpkg-shlibdeps; then
  cpack -G DEB --config "$build/CPackConfig.cmake" -B package -D CPACK_DEBIAN_COMPRESSION_TYPE=none >package.txt 2>&1
  dpkg-deb --field package/dlcc_*.deb Depends >depends.txt
  grep -q 'libc6.*libprotobuf' depends.txt || fail "the package depends on $(cat depends.txt)"
  dpkg-deb --extract package/dlcc_*.deb root
  (cd prefix && find . ! -type d | sort) >of_prefix.txt
  (cd root/usr && find . ! -type d | sort) | diff of_prefix.txt - || fail "the package has other files than the installation"
  ! nm root/usr/bin/dlcc 2>&1 | grep -v 'no symbols' || fail "the program is not stripped"
  echo "the Debian package"
fi

# A project that contains dlcc's sources compiles its models with the dlcc that it builds.
mkdir outer
cat >outer/CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.20)
project(outer LANGUAGES C CXX)
add_subdirectory($source dlcc EXCLUDE_FROM_ALL)
dlcc_add_model(digits $model THREADS 2)
END
cmake -S outer -B outer/build -G Ninja >outer.txt
ninja -C outer/build -t commands digits >commands.txt
grep -q "dlcc/dlcc $model -o .*digits.o" commands.txt || fail "add_subdirectory: $(tail -3 commands.txt)"
ninja -C outer/build -t query dlcc_models/digits/digits.o >inputs.txt
grep -qx ' *dlcc/dlcc' inputs.txt || fail "the model does not depend on dlcc: $(cat inputs.txt)"
echo "in another project"
