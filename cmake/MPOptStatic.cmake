# The programs contain the parts of MLIR and LLVM that they use: the dynamic
# linker's work on libMLIR.so and libLLVM.so would be more than half of a small
# model's time. The plugin for mlir-opt uses the libraries of its host, and
# programs that only tests run are linked faster with them. Types and passes are
# identified by the addresses of their names, which requires a single MLIR in a
# process: mp_link takes either the archives or the shared libraries, depending
# on the property MPOPT_STATIC of the final program.

# The archives, except those that are not part of libMLIR.so or have a main.
get_property(archives GLOBAL PROPERTY MLIR_ALL_LIBS)
list(APPEND archives ${LLVM_AVAILABLE_LIBS})
list(FILTER archives EXCLUDE REGEX "^MLIR(CAPI|Test|MlirOptMain)|^LLVMFuzzerCLI")
set(MPOPT_ARCHIVES)
foreach(archive IN LISTS archives)
  if(TARGET ${archive})
    get_target_property(type ${archive} TYPE)
    get_target_property(file ${archive} LOCATION)
    if(type STREQUAL "STATIC_LIBRARY" AND EXISTS "${file}")
      list(APPEND MPOPT_ARCHIVES ${file})
    endif()
  endif()
endforeach()
find_library(MPOPT_STATIC_ZLIB libz.a)
find_library(MPOPT_STATIC_ZSTD libzstd.a)
find_library(MPOPT_STATIC_PROTOBUF libprotobuf.a)

# Sanitizers keep MLIR, which is not instrumented, at arm's length.
set(MPOPT_STATIC_DEFAULT OFF)
if(MPOPT_ARCHIVES MATCHES "libMLIRIR\\.a" AND MPOPT_STATIC_ZLIB AND
   MPOPT_STATIC_ZSTD AND MPOPT_STATIC_PROTOBUF AND NOT MPOPT_SANITIZE)
  set(MPOPT_STATIC_DEFAULT ON)
endif()
option(MPOPT_STATIC "link mp-opt and mp-run with the archives of MLIR and LLVM"
       ${MPOPT_STATIC_DEFAULT})
if(MPOPT_STATIC AND NOT MPOPT_STATIC_DEFAULT)
  message(FATAL_ERROR "MPOPT_STATIC needs the archives of MLIR, LLVM, protobuf, "
                      "zlib and zstd, and no sanitizers")
endif()

# lld links the archives in seconds; GNU ld, which takes a minute, is the
# fallback.
find_program(MPOPT_LLD ld.lld HINTS ${LLVM_TOOLS_BINARY_DIR} NO_DEFAULT_PATH)
if(MPOPT_LLD AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(--ld-path=${MPOPT_LLD})
elseif(MPOPT_LLD)
  # g++ looks for linkers by name, in folders.
  cmake_path(GET MPOPT_LLD PARENT_PATH folder)
  add_link_options(-fuse-ld=lld -B${folder})
endif()

if(MPOPT_STATIC)
  add_library(MPOptStatic INTERFACE)
  target_link_libraries(MPOptStatic INTERFACE
    -Wl,--start-group ${MPOPT_ARCHIVES} -Wl,--end-group
    ${MPOPT_STATIC_ZSTD} ${MPOPT_STATIC_ZLIB} Threads::Threads ${CMAKE_DL_LIBS})
endif()

# mp_static_choice(RESULT NAME STATIC): a generator expression that is STATIC
# for programs that are linked statically, and the library NAME for all others.
function(mp_static_choice result name static)
  set(${result} ${name} PARENT_SCOPE)
  if(MPOPT_STATIC)
    set(asked $<BOOL:$<TARGET_PROPERTY:MPOPT_STATIC>>)
    # Projects that use installed libraries link the shared ones.
    set(${result} $<BUILD_INTERFACE:$<IF:${asked},${static},${name}>>
        $<INSTALL_INTERFACE:${name}> PARENT_SCOPE)
  endif()
endfunction()

# mp_link(TARGET SCOPE LIBRARIES...): as target_link_libraries.
function(mp_link target scope)
  set(libraries)
  foreach(library IN LISTS ARGN)
    if(library MATCHES "^(MLIR|LLVM|ZLIB::ZLIB)$")
      mp_static_choice(library ${library} MPOptStatic)
    endif()
    list(APPEND libraries ${library})
  endforeach()
  target_link_libraries(${target} ${scope} ${libraries})
endfunction()

# ONNX's package links the shared libprotobuf, which the plugin uses; the
# archive's code is for programs only.
foreach(target ONNX::onnx ONNX::onnx_proto)
  get_target_property(libraries ${target} INTERFACE_LINK_LIBRARIES)
  mp_static_choice(protobuf protobuf::libprotobuf "${MPOPT_STATIC_PROTOBUF}")
  list(TRANSFORM libraries REPLACE "^protobuf::libprotobuf$" "${protobuf}")
  set_target_properties(${target} PROPERTIES
                        INTERFACE_LINK_LIBRARIES "${libraries}")
endforeach()
