# Libraries from the distribution. Each is an imported target that only the rooms that need it link.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

pkg_check_modules(SystemC REQUIRED IMPORTED_TARGET systemc)
add_library(heddle_systemc INTERFACE)
# Debian compiles libsystemc as C++17; its headers refuse to link against a program that says otherwise.
target_compile_definitions(heddle_systemc INTERFACE SC_CPLUSPLUS=201703L SC_DISABLE_API_VERSION_CHECK)
target_include_directories(heddle_systemc SYSTEM INTERFACE ${SystemC_INCLUDE_DIRS})
target_link_libraries(heddle_systemc INTERFACE PkgConfig::SystemC)
# Takes our sc_main() out of its archive: libsystemc refers to it and comes later on the command line.
target_link_options(heddle_systemc INTERFACE -Wl,-u,sc_main)

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(CLI11 REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
pkg_check_modules(zstd REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(lz4 REQUIRED IMPORTED_TARGET liblz4)
find_package(Protobuf REQUIRED)

find_package(CUDAToolkit QUIET)
find_program(HEDDLE_PTXAS ptxas HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin)
find_program(HEDDLE_NVDISASM nvdisasm HINTS ${CUDAToolkit_BIN_DIR} /usr/local/cuda/bin)
