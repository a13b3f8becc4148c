# Libraries of this project: mp_add_library(NAME sources...
#   [LINK_LIBS libs...] [DEPENDS targets...] [EXCEPTIONS])
# Warnings are errors in our own code. LLVM is built without exceptions;
# EXCEPTIONS is for the folders that call ONNX's C++ library, which throws.
function(mp_add_library name)
  cmake_parse_arguments(ARG "EXCEPTIONS" "" "LINK_LIBS;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC ${ARG_LINK_LIBS})
  # Here, include_directories says it; MPOptInstall.cmake installs them.
  target_include_directories(${name} INTERFACE
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/mp-opt/passes>)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  mp_compile_options(${name} ${ARG_EXCEPTIONS})
  # Those that see the dialect see most of MLIR.
  if(MPOPT_PRECOMPILE AND ARG_LINK_LIBS MATCHES "MPOptONNX")
    mp_precompile(${name} ${ARG_EXCEPTIONS})
  endif()
  set_property(GLOBAL APPEND PROPERTY MPOPT_LIBRARIES ${name})
  install(TARGETS ${name} EXPORT MPOptTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

function(mp_compile_options name exceptions)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Werror
                         -Wno-unused-parameter -fvisibility-inlines-hidden)
  if(NOT exceptions)
    target_compile_options(${name} PRIVATE -fno-exceptions)
  endif()
endfunction()

# One precompiled header for all libraries with the same flags: the first of
# them makes it.
function(mp_precompile name exceptions)
  get_property(first GLOBAL PROPERTY MPOPT_PRECOMPILED_${exceptions})
  # Precompiled, libstdc++ is no system header, and calls what it deprecates.
  target_compile_options(${name} PRIVATE -Wno-deprecated-declarations)
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
    return()
  endif()
  target_precompile_headers(${name} PRIVATE
    <mp-opt/Dialect/ONNX/ONNX.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h>
    <mlir/IR/Verifier.h> <mlir/Pass/PassManager.h> <llvm/Support/JSON.h>)
  set_property(GLOBAL PROPERTY MPOPT_PRECOMPILED_${exceptions} ${name})
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
