# ackbox for vcpkg, from this tree: `vcpkg install ackbox --overlay-ports=cmake/vcpkg`.
vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
cmake_path(SET SOURCE_PATH NORMALIZE "${CURRENT_PORT_DIR}/../../..")
vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS -DACKBOX_BUILD_TESTS=OFF -DACKBOX_BUILD_EXAMPLES=OFF -DACKBOX_BUILD_TOOL=OFF -DACKBOX_BUILD_EXTENSION=OFF
          -DACKBOX_BUILD_C=OFF -DACKBOX_WARNINGS_AS_ERRORS=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/ackbox)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
     "${CURRENT_PACKAGES_DIR}/share/doc")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
