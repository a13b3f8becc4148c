# Builds for clang's sanitizers: MPOPT_SANITIZE="address,undefined" or "thread".
# libMLIR, libLLVM and libprotobuf are Debian's and not instrumented; the
# consequences are described where they are handled, here and in
# fuzz/SanitizerDefaults.cpp.
set(MPOPT_SANITIZE "" CACHE STRING
    "sanitizers to build with, in the words of clang's -fsanitize")
if(NOT MPOPT_SANITIZE)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "MPOPT_SANITIZE needs clang, found "
                      "${CMAKE_CXX_COMPILER_ID}: set CMAKE_CXX_COMPILER")
endif()

# vptr needs type information of every called object; LLVM's own classes compare
# theirs by address, across libraries that hide it.
set(flags -fsanitize=${MPOPT_SANITIZE} -fno-sanitize=vptr
          -fno-sanitize-recover=all)
add_compile_options(${flags} -O1 -gline-tables-only -fno-omit-frame-pointer)
add_link_options(${flags})
# An index out of a std::vector ends the process.
add_compile_definitions(_GLIBCXX_ASSERTIONS)
if(MPOPT_SANITIZE MATCHES "address")
  # Coverage for the fuzzers; harmless elsewhere.
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
  # Into every program: how the sanitizers of this project run.
  add_library(MPOptSanitizerDefaults OBJECT
              ${CMAKE_SOURCE_DIR}/fuzz/SanitizerDefaults.cpp)
  link_libraries($<TARGET_OBJECTS:MPOptSanitizerDefaults>)
endif()
