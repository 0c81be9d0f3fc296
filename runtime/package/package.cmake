# The Debian package: `cpack -G DEB` in the build folder writes dlcc_VERSION_ARCHITECTURE.deb. Libraries are in Debian's folder
# for the architecture if CMAKE_INSTALL_PREFIX is /usr, else in lib.
set(CPACK_PACKAGE_NAME dlcc)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "dlcc authors <dlcc@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "ahead-of-time compiler for neural networks")
set(CPACK_PACKAGE_DESCRIPTION
"dlcc compiles a trained neural network, an ONNX model or Relay text, to one
object file and one C header. The program that links them needs no framework,
no interpreter and no heap: weights are constants of the object, and the memory
of a run is one buffer whose size is known at compile time.
.
This package has the compiler, the runtime library for models that use several
threads (also as C sources, for other compilers), a CMake package, a
pkg-config file, documentation and examples.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_THREADS 0)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gcc | c-compiler, cmake, make, pkg-config")
include(CPack)
