# ccache, where it is and nothing else launches compilers. Objects are found
# again for copies of this folder that lie elsewhere, and what is precompiled
# may be used.
find_program(MPOPT_CCACHE ccache)
if(MPOPT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${MPOPT_CCACHE})
endif()
