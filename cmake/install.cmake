# The installed package: library, headers, `find_package(ackbox)` and the licence.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ackbox_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ackbox)
install(TARGETS ackbox ackbox_testing EXPORT ackboxTargets FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ackboxTargets NAMESPACE ackbox:: DESTINATION ${ackbox_package_dir})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ackboxConfig.cmake.in ${PROJECT_BINARY_DIR}/ackboxConfig.cmake
                              INSTALL_DESTINATION ${ackbox_package_dir})
# Before 1.0 a minor version may break the API.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ackboxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ackboxConfig.cmake ${PROJECT_BINARY_DIR}/ackboxConfigVersion.cmake
        DESTINATION ${ackbox_package_dir})
