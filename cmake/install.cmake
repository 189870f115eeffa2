# The installed package: library, headers, `find_package(ackbox)` and the licence.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ackbox_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ackbox)
# Components are packages: see packages.cmake.
install(TARGETS ackbox ackbox_testing EXPORT ackboxTargets
        ARCHIVE COMPONENT development LIBRARY COMPONENT development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
if(TARGET ackbox_shared)
  install(TARGETS ackbox_shared EXPORT ackboxTargets
          LIBRARY COMPONENT shared NAMELINK_COMPONENT development
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libackbox0 COMPONENT shared)
endif()
if(TARGET ackbox_postgres)
  # An export of its own: only who asks for this component needs libpq.
  install(TARGETS ackbox_postgres EXPORT ackboxPostgresTargets
          ARCHIVE COMPONENT development LIBRARY COMPONENT development
          FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(EXPORT ackboxPostgresTargets NAMESPACE ackbox:: DESTINATION ${ackbox_package_dir} COMPONENT development)
endif()
install(EXPORT ackboxTargets NAMESPACE ackbox:: DESTINATION ${ackbox_package_dir} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libackbox-dev COMPONENT development)

# From the file's folder up to the prefix, so that an installation can be moved.
file(RELATIVE_PATH ACKBOX_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
# By its path where it is static: -lackbox would find the shared library of the C functions.
set(ACKBOX_PC_LIBRARY "\${libdir}/${CMAKE_STATIC_LIBRARY_PREFIX}ackbox${CMAKE_STATIC_LIBRARY_SUFFIX}")
set(ACKBOX_PC_POSTGRES_LIBRARY "\${libdir}/${CMAKE_STATIC_LIBRARY_PREFIX}ackbox_postgres${CMAKE_STATIC_LIBRARY_SUFFIX}")
set(ACKBOX_PC_REQUIRES Requires)
if(BUILD_SHARED_LIBS)
  set(ACKBOX_PC_REQUIRES Requires.private)
  set(ACKBOX_PC_LIBRARY "-L\${libdir} -lackbox")
  set(ACKBOX_PC_POSTGRES_LIBRARY "-L\${libdir} -lackbox_postgres")
endif()
set(pkg_config_files ackbox.pc)
if(TARGET ackbox_shared)
  list(APPEND pkg_config_files ackbox-c.pc)
endif()
if(TARGET ackbox_postgres)
  list(APPEND pkg_config_files ackbox-postgres.pc)
endif()
foreach(file ${pkg_config_files})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${file}.in ${PROJECT_BINARY_DIR}/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
endforeach()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ackboxConfig.cmake.in ${PROJECT_BINARY_DIR}/ackboxConfig.cmake
                              INSTALL_DESTINATION ${ackbox_package_dir})
# Before 1.0 a minor version may break the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ackboxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ackboxConfig.cmake ${PROJECT_BINARY_DIR}/ackboxConfigVersion.cmake
        DESTINATION ${ackbox_package_dir} COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libackbox-dev
          COMPONENT development PATTERN "__pycache__" EXCLUDE PATTERN "node_modules" EXCLUDE)
  include(packages)
endif()
