# The installed tree, for find_package(MPOpt). Libraries install themselves
# (mp_add_library); headers, generated ones included, and the package's files
# come here.
set(MPOPT_INSTALL_INCLUDEDIR ${CMAKE_INSTALL_INCLUDEDIR})
set(MPOPT_INSTALL_PASSESDIR ${CMAKE_INSTALL_INCLUDEDIR}/mp-opt/passes)
set(MPOPT_INSTALL_CMAKEDIR ${CMAKE_INSTALL_LIBDIR}/cmake/MPOpt)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/mp-opt
                  ${CMAKE_BINARY_DIR}/include/mp-opt
        DESTINATION ${MPOPT_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
                       PATTERN "*.def"
                       PATTERN "CMakeFiles" EXCLUDE)
# Headers of passes include each other as "Precision/Passes.h".
install(DIRECTORY ${CMAKE_SOURCE_DIR}/passes/ ${CMAKE_BINARY_DIR}/passes/
        DESTINATION ${MPOPT_INSTALL_PASSESDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
                       PATTERN "CMakeFiles" EXCLUDE)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE
        DESTINATION ${CMAKE_INSTALL_DATADIR}/licenses/mp-opt)

get_property(MPOPT_LIBRARIES GLOBAL PROPERTY MPOPT_LIBRARIES)
include(CMakePackageConfigHelpers)
configure_package_config_file(
  ${CMAKE_SOURCE_DIR}/cmake/MPOptConfig.cmake.in
  ${CMAKE_BINARY_DIR}/cmake/MPOptConfig.cmake
  INSTALL_DESTINATION ${MPOPT_INSTALL_CMAKEDIR}
  PATH_VARS MPOPT_INSTALL_INCLUDEDIR MPOPT_INSTALL_PASSESDIR)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/cmake/MPOptConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/cmake/MPOptConfig.cmake
              ${CMAKE_BINARY_DIR}/cmake/MPOptConfigVersion.cmake
        DESTINATION ${MPOPT_INSTALL_CMAKEDIR})
install(EXPORT MPOptTargets NAMESPACE MPOpt::
        DESTINATION ${MPOPT_INSTALL_CMAKEDIR})
