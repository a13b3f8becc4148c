# Uses ccache if it is installed and no other compiler launcher is set. Objects
# are shared between copies of this folder in other places, and precompiled
# headers may be used.
find_program(MPOPT_CCACHE ccache)
if(MPOPT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros ${MPOPT_CCACHE})
endif()
