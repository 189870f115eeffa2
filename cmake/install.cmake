# The installed package: library, headers, `find_package(ackbox)` and the licence.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ackbox_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ackbox)
# Components are packages: see packages.cmake.
install(TARGETS ackbox ackbox_testing EXPORT ackboxTargets
        ARCHIVE COMPONENT development LIBRARY COMPONENT development
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(EXPORT ackboxTargets NAMESPACE ackbox:: DESTINATION ${ackbox_package_dir} COMPONENT development)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libackbox-dev COMPONENT development)

# From the file's folder up to the prefix, so that an installation can be moved.
file(RELATIVE_PATH ACKBOX_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/ackbox.pc.in ${PROJECT_BINARY_DIR}/ackbox.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ackbox.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ackboxConfig.cmake.in ${PROJECT_BINARY_DIR}/ackboxConfig.cmake
                              INSTALL_DESTINATION ${ackbox_package_dir})
# Before 1.0 a minor version may break the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ackboxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ackboxConfig.cmake ${PROJECT_BINARY_DIR}/ackboxConfigVersion.cmake
        DESTINATION ${ackbox_package_dir} COMPONENT development)

if(PROJECT_IS_TOP_LEVEL)
  include(packages)
endif()
