# Libraries of this project: mp_add_library(NAME sources...
#   [LINK_LIBS libs...] [DEPENDS targets...] [EXCEPTIONS] [SEPARATE]
#   [HEADERS set])
# Warnings are errors in our own code. LLVM is built without exceptions;
# EXCEPTIONS is for the folders that call ONNX's C++ library, which throws.
# HEADERS names what is precompiled (mp_precompile), by default MPOPT_IR.
# SEPARATE makes an object file of each source, of which a linker takes those
# that it needs (mp_unity).
function(mp_add_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS;SEPARATE" "HEADERS"
                        "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  mp_link(${name} PUBLIC ${ARG_LINK_LIBS})
  # Here, include_directories says it; MPOptInstall.cmake installs them.
  target_include_directories(${name} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/mp-opt/passes>)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  mp_compile_options(${name} ${ARG_EXCEPTIONS})
  if(NOT ARG_HEADERS)
    set(ARG_HEADERS IR)
  endif()
  mp_precompile(${name} ${ARG_HEADERS})
  if(NOT ARG_SEPARATE)
    mp_unity(${name})
  endif()
  set_property(GLOBAL APPEND PROPERTY MPOPT_LIBRARIES ${name})
  install(TARGETS ${name} EXPORT MPOptTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# Code of programs: mp_add_tool_library(NAME sources... LINK_LIBS libs...), which
# is not installed.
function(mp_add_tool_library name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  mp_link(${name} PUBLIC ${ARG_LINK_LIBS})
  target_include_directories(${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(${name} PRIVATE MPOPT_VERSION="${PROJECT_VERSION}"
    $<$<BOOL:${MPOPT_STATIC}>:MPOPT_STATIC>)
  mp_compile_options(${name} FALSE)
  target_compile_options(${name} PRIVATE -fPIC)
  mp_precompile(${name} IR)
  mp_unity(${name})
endfunction()

# Programs of this project: mp_add_program(NAME sources... LINK_LIBS libs...).
# Static where MPOptStatic.cmake says so.
function(mp_add_program name)
  cmake_parse_arguments(ARG "" "" "LINK_LIBS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  mp_link(${name} PRIVATE ${ARG_LINK_LIBS})
  target_compile_definitions(${name} PRIVATE MPOPT_VERSION="${PROJECT_VERSION}")
  mp_compile_options(${name} FALSE)
  # -fPIE is not used: precompiled headers have one form.
  target_compile_options(${name} PRIVATE -fPIC)
  mp_precompile(${name} IR)
  if(MPOPT_STATIC)
    set_target_properties(${name} PROPERTIES MPOPT_STATIC ON
                          INSTALL_RPATH "" INSTALL_RPATH_USE_LINK_PATH OFF)
    # Relocations of the process's start are packed, and unreferenced sections
    # are dropped. libstdc++ is linked statically, since its symbols take long
    # to resolve; libgcc_s is not, since compiled code may refer to it.
    target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed
                        -Wl,-z,pack-relative-relocs -Wl,-z,relro -Wl,-z,now
                        -static-libstdc++)
    # The 500 functions that run before main are placed together, and equal
    # functions are merged: MLIR instantiates many.
    if(MPOPT_LLD)
      target_link_options(${name} PRIVATE -Wl,-z,keep-text-section-prefix
                          -Wl,--icf=all)
    endif()
    if(CMAKE_BUILD_TYPE STREQUAL "Release")
      target_link_options(${name} PRIVATE -Wl,-s)
    endif()
  endif()
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR}
          COMPONENT programs)
endfunction()

function(mp_compile_options name exceptions)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror
                         -Wno-unused-parameter -fvisibility-inlines-hidden)
  if(NOT exceptions)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
endfunction()

# Precompiled headers contain headers of other projects only: a change of one of
# ours recompiles the files that include it, and nothing else. IR is for code
# that sees modules; DIALECTS for code that creates ops of MLIR's dialects; ONNX
# for code that uses ONNX's C++ library.
set(MPOPT_HEADERS_IR
  mlir/Bytecode/BytecodeOpInterface.h mlir/IR/Builders.h
  mlir/IR/BuiltinAttributes.h mlir/IR/BuiltinOps.h
  mlir/IR/BuiltinTypes.h mlir/IR/ExtensibleDialect.h
  mlir/IR/OpImplementation.h mlir/IR/Verifier.h
  mlir/Interfaces/ControlFlowInterfaces.h
  mlir/Interfaces/SideEffectInterfaces.h mlir/Pass/PassManager.h
  llvm/ADT/StringSet.h llvm/ADT/StringSwitch.h llvm/Support/JSON.h)
set(MPOPT_HEADERS_DIALECTS ${MPOPT_HEADERS_IR}
  mlir/Dialect/Affine/IR/AffineOps.h mlir/Dialect/Arith/IR/Arith.h
  mlir/Dialect/Bufferization/IR/Bufferization.h
  mlir/Dialect/Func/IR/FuncOps.h mlir/Dialect/LLVMIR/LLVMDialect.h
  mlir/Dialect/Linalg/IR/Linalg.h mlir/Dialect/Math/IR/Math.h
  mlir/Dialect/MemRef/IR/MemRef.h mlir/Dialect/SCF/IR/SCF.h
  mlir/Dialect/Tensor/IR/Tensor.h mlir/Dialect/Vector/IR/VectorOps.h
  mlir/IR/TypeUtilities.h mlir/Transforms/GreedyPatternRewriteDriver.h)
set(MPOPT_HEADERS_ONNX ${MPOPT_HEADERS_IR}
  onnx/defs/function.h onnx/defs/schema.h
  onnx/defs/shape_inference.h onnx/onnx_pb.h)

# The headers of MLIR are nine tenths of the code to compile. clang reads them
# once for each set, and a file then takes one second instead of five to
# thirteen. (g++ gains little, and its precompiled headers take 1 GB.)
set(MPOPT_PRECOMPILE_DEFAULT OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(MPOPT_PRECOMPILE_DEFAULT ON)
endif()
option(MPOPT_PRECOMPILE "precompile the headers of MLIR and ONNX"
       ${MPOPT_PRECOMPILE_DEFAULT})

# mp_precompiled_header(RESULT SET): the precompiled file, and the rule that
# makes it. CMake's own rule would write the names of folders into it, and the
# compiler cache would not recognize objects of another folder.
function(mp_precompiled_header result headers)
  set(file pch/${headers}.pch)
  set(${result} ${CMAKE_BINARY_DIR}/${file} PARENT_SCOPE)
  get_property(made GLOBAL PROPERTY MPOPT_PRECOMPILED_${headers})
  if(made)
    return()
  endif()
  set_property(GLOBAL PROPERTY MPOPT_PRECOMPILED_${headers} ON)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags NATIVE_COMMAND
    "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}} ${LLVM_DEFINITIONS}")
  get_property(options DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTY COMPILE_OPTIONS)
  list(FILTER options EXCLUDE REGEX "^-ffile-prefix-map=")
  get_property(defined DIRECTORY ${CMAKE_SOURCE_DIR}
               PROPERTY COMPILE_DEFINITIONS)
  list(TRANSFORM defined PREPEND -D)
  set(folders ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
  if(headers STREQUAL "ONNX")
    list(APPEND folders ${MPOPT_ONNX_PREFIX}/include)
  else()
    list(APPEND options -fno-exceptions)
  endif()
  list(REMOVE_DUPLICATES folders)
  list(TRANSFORM folders PREPEND "-isystem;")
  set(included ${MPOPT_HEADERS_${headers}})
  list(TRANSFORM included PREPEND "-include;")
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/pch)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/${file}
    COMMAND ${CMAKE_CXX_COMPILER} ${flags} ${options} ${defined}
            -std=gnu++${CMAKE_CXX_STANDARD} -fPIC -fvisibility-inlines-hidden
            -fpch-instantiate-templates -Xclang -emit-pch
            -Xclang -fno-pch-timestamp ${folders} ${included}
            -MD -MT ${file} -MF ${file}.d
            -x c++-header /dev/null -o ${file}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}
    DEPFILE ${CMAKE_BINARY_DIR}/${file}.d
    COMMENT "Precompiling headers: ${headers}" VERBATIM)
  add_custom_target(MPOptPrecompiled${headers}
                    DEPENDS ${CMAKE_BINARY_DIR}/${file})
endfunction()

# mp_precompile(TARGET SET): its code is position independent, and has
# exceptions if the set is ONNX.
function(mp_precompile name headers)
  if(NOT MPOPT_PRECOMPILE OR headers STREQUAL "NONE")
    return()
  endif()
  mp_precompiled_header(file ${headers})
  add_dependencies(${name} MPOptPrecompiled${headers})
  # When precompiled, libstdc++ is not treated as a system header, and it calls
  # functions that it deprecates.
  file(RELATIVE_PATH relative ${CMAKE_BINARY_DIR} ${file})
  target_compile_options(${name} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>
    "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include-pch ${relative}>")
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${file})
endfunction()

# The same templates of MLIR are instantiated and optimized for nearly every
# file: eight files in one translation unit take a third of the time.
option(MPOPT_UNITY "compile the sources of a library in groups of eight" ON)
set(MPOPT_UNITY_SIZE 8)

# mp_unity(TARGET): compiles its sources in groups. The files of a group have
# the same "using namespace" lines, so that no name means something else in it
# than in its file.
function(mp_unity name)
  if(NOT MPOPT_UNITY)
    return()
  endif()
  set_target_properties(${name} PROPERTIES
    UNITY_BUILD ON UNITY_BUILD_MODE GROUP UNITY_BUILD_RELOCATABLE ON)
  get_target_property(sources ${name} SOURCES)
  list(FILTER sources INCLUDE REGEX "^[^/$].*\\.cpp$")
  foreach(source IN LISTS sources)
    file(STRINGS ${source} group REGEX "^using namespace ")
    list(TRANSFORM group REPLACE "using namespace |;" "")
    string(MAKE_C_IDENTIFIER "${group}" group)
    math(EXPR number "${count_${group}} + 0")
    math(EXPR count_${group} "${number} + 1")
    math(EXPR number "${number} / ${MPOPT_UNITY_SIZE}")
    set_source_files_properties(${source} PROPERTIES
      UNITY_GROUP "${group}_${number}")
  endforeach()
endfunction()

# All targets that the CMakeLists.txt files of a folder and below define and
# that a plain build makes.
function(mp_all_targets result folder)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  set(kept)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "LIBRARY|EXECUTABLE")
      list(APPEND kept ${target})
    endif()
  endforeach()
  get_property(folders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  foreach(below IN LISTS folders)
    mp_all_targets(targets ${below})
    list(APPEND kept ${targets})
  endforeach()
  set(${result} ${kept} PARENT_SCOPE)
endfunction()
