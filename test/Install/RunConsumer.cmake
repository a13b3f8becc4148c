# Run with cmake -P; CMakeLists.txt sets the variables. Nothing in the
# installed tree may point to the source or build folder, and it may be moved.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result
                  OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "exit code ${result}: ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/staged)
file(RENAME ${WORK}/staged ${WORK}/installed)

file(GLOB_RECURSE package ${WORK}/installed/*.cmake)
foreach(file IN LISTS package)
  file(STRINGS ${file} leaks REGEX "${BUILD}|${SOURCE}|${WORK}")
  if(leaks)
    message(FATAL_ERROR "${file} names a folder of the build: ${leaks}")
  endif()
endforeach()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build -G ${GENERATOR}
    -DCMAKE_MAKE_PROGRAM=${MAKE_PROGRAM} -DCMAKE_CXX_COMPILER=${CXX}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_PREFIX_PATH=${WORK}/installed)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)
if(NOT output MATCHES "onnx.MatMul.*tensor<4x3xbf16>")
  message(FATAL_ERROR "expected a MatMul in bf16, got:\n${output}")
endif()
if(NOT output MATCHES "y: 1 0 3 2\n")
  message(FATAL_ERROR "expected y = x w, got:\n${output}")
endif()
# Editors, shells and man look for these files.
foreach(file bin/mp-opt-lsp-server
        share/man/man1/mp-opt.1 share/man/man1/mp-run-train.1
        share/bash-completion/completions/mp-opt
        share/zsh/site-functions/_mp-run
        share/fish/vendor_completions.d/mp-run.fish)
  if(NOT EXISTS ${WORK}/installed/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
# The installed tool runs as well, from where it was moved to.
if(EXISTS ${WORK}/installed/bin/mp-opt)
  run(${WORK}/installed/bin/mp-opt --version)
endif()
# The library for C, found as its .pc file says.
file(GLOB_RECURSE pc ${WORK}/installed/*/mp-opt.pc)
get_filename_component(folder ${pc} DIRECTORY)
foreach(key libdir includedir)
  file(STRINGS ${pc} value REGEX "^${key}=")
  string(REPLACE "${key}=\${prefix}" "${folder}/../.." ${key} "${value}")
endforeach()
run(cc ${EXAMPLES}/embed/compiler.c -I${includedir} -L${libdir} -lmp-opt -lm
    -Wl,-rpath,${libdir} -o ${WORK}/compiler)
run(${WORK}/compiler ${EXAMPLES}/training/classifier.onnxtxt
    ${WORK}/states.safetensors)
if(NOT output MATCHES "last loss 0\\.0")
  message(FATAL_ERROR "expected a model that has learnt, got:\n${output}")
endif()
# The one for compilers; MLIR's headers are those of the build.
run(cc ${EXAMPLES}/embed/passes.c -I${includedir} -isystem ${MLIR_INCLUDE}
    -L${libdir} -lmp-opt -Wl,-rpath,${libdir} -o ${WORK}/passes)
run(${WORK}/passes ${EXAMPLES}/training/classifier.onnxtxt
    mp-mixed-precision precision=bf16)
if(NOT output MATCHES "onnx.Gemm.*tensor<8x3xbf16>")
  message(FATAL_ERROR "expected a Gemm in bf16, got:\n${output}")
endif()
