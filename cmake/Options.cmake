# What the user may switch, and the compiler flags that hold everywhere.
option(HEDDLE_TESTS "Build the tests" ON)
option(HEDDLE_BENCHMARKS "Build the benchmarks when Google Benchmark is found" ON)
option(HEDDLE_ASAN "AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(HEDDLE_COVERAGE "Count which lines run, for scripts/coverage.sh" OFF)
option(HEDDLE_FUZZ "Build the libFuzzer targets, with clang++ and AddressSanitizer" OFF)
# Most of the time of a compiler goes into headers, which files of a room share: compiled eight at a time they take less than half
# of it. Off, every file is compiled alone, which is quicker after a change of one file.
option(HEDDLE_UNITY "Compile the files of a room several at a time" ON)
# Other compilers warn of other things.
set(HEDDLE_KNOWN_WARNINGS OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12[.]")
    set(HEDDLE_KNOWN_WARNINGS ON)
endif()
option(HEDDLE_WERROR "Treat warnings as errors" ${HEDDLE_KNOWN_WARNINGS})

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
# Books on everything that an SM holds, in every run (models/gpu/sm_audit.h).
add_compile_definitions($<$<CONFIG:Debug>:HEDDLE_DEBUG_CHECKS>)

# A processor of 2013 or later counts and finds bits in one instruction, which simulations do all the time: for the models and
# the PTX machine. No result depends on it: nothing is contracted or reassociated (below), and without its fma the NaNs stay
# those of the C library.
option(HEDDLE_X86_64_V3 "Build the models for processors with AVX2 and BMI (x86-64-v3) where this one has them" ON)
# Functions of a file are inlined within it, although the code is position-independent.
set(HEDDLE_HOST_FLAGS -fno-semantic-interposition)
if(HEDDLE_X86_64_V3)
    include(CheckCXXSourceRuns)
    set(CMAKE_REQUIRED_FLAGS -march=x86-64-v3)
    check_cxx_source_runs("int main() { return __builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"bmi2\") && __builtin_cpu_supports(\"fma\") ? 0 : 1; }"
                          HEDDLE_HOST_IS_X86_64_V3)
    unset(CMAKE_REQUIRED_FLAGS)
    if(HEDDLE_HOST_IS_X86_64_V3)
        list(APPEND HEDDLE_HOST_FLAGS -march=x86-64-v3 -mno-fma)
    endif()
endif()

find_program(HEDDLE_CCACHE ccache)
if(HEDDLE_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${HEDDLE_CCACHE})
endif()

# Floating point is the product: no contraction, no reassociation, anywhere.
add_compile_options(-Wall -Wextra -Wpedantic -ffp-contract=off)
if(HEDDLE_UNITY)
    # The compiler takes the files of a batch for headers, in which unnamed namespaces would be a mistake.
    add_compile_options(-Wno-subobject-linkage)
endif()
if(HEDDLE_WERROR)
    add_compile_options(-Werror)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # What g++ 12 concludes of the standard library's strings and vectors after inlining is often wrong: it stays a warning.
        add_compile_options(-Wno-error=restrict -Wno-error=array-bounds -Wno-error=stringop-overflow)
    endif()
endif()
if(HEDDLE_ASAN)
    add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
    add_link_options(-fsanitize=address,undefined)
    # What Eigen allocates here, Debian's libpagmo frees: both with malloc as it is, though Eigen would not under this sanitizer.
    add_compile_definitions(EIGEN_MALLOC_ALREADY_ALIGNED=1)
endif()
if(HEDDLE_COVERAGE)
    # Less optimisation, so that lines stay apart; it comes after that of the build type.
    add_compile_options(-O1 --coverage)
    add_link_options(--coverage)
endif()
if(HEDDLE_FUZZ AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options(-fsanitize=fuzzer-no-link,address -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=address)
endif()
