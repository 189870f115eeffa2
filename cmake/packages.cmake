# What `scripts/release` puts into packages: `cpack` makes the Debian packages, one for each component.
#
# ackbox          the program with its manual page, completions, systemd unit and documentation
# libackbox0      the shared library of the C functions; the package's number is that of its soname
# libackbox-dev   the C++ library (static: its ABI may change with each minor version), headers, CMake, pkg-config, and
#                 what a program in C is linked with
set(CPACK_PACKAGE_NAME ackbox)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The ackbox developers <ackbox@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL program development)
if(TARGET ackbox_shared)
  list(APPEND CPACK_COMPONENTS_ALL shared)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# The releases of Debian each have another simdjson, so the program's package can carry the one that it was built with.
# `dpkg-shlibdeps` takes it from a folder of its own, and asks for no package.
option(ACKBOX_PACKAGE_SIMDJSON "Put simdjson into the program's package" OFF)
if(ACKBOX_PACKAGE_SIMDJSON)
  find_library(ACKBOX_SIMDJSON simdjson REQUIRED)
  file(REAL_PATH ${ACKBOX_SIMDJSON} carried)
  cmake_path(GET carried FILENAME name)
  string(REGEX REPLACE "(\\.so\\.[0-9]+).*" "\\1" name ${name})
  configure_file(${carried} ${PROJECT_BINARY_DIR}/carried/${name} COPYONLY)
  install(FILES ${PROJECT_BINARY_DIR}/carried/${name} DESTINATION lib/ackbox COMPONENT program)
  install(FILES /usr/share/doc/libsimdjson-dev/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/ackbox
          RENAME LICENSE.simdjson COMPONENT program)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/carried)
  # The shared library does not carry it, and must ask for its package.
  execute_process(COMMAND dpkg-query --search ${carried} OUTPUT_VARIABLE simdjson_package COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX REPLACE ":.*" "" simdjson_package "${simdjson_package}")
  set(CPACK_DEBIAN_SHARED_PACKAGE_DEPENDS ${simdjson_package})
endif()

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME ackbox)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION net)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
    "Durable outbox with acknowledgements, for agents in any language
 The program ackbox delivers messages from a SQLite file over HTTP, in order and once, receives those of others,
 and shows what is on its way on a page, in figures and on the command line.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/cmake/debian/postinst;${PROJECT_SOURCE_DIR}/cmake/debian/prerm;${PROJECT_SOURCE_DIR}/cmake/debian/postrm")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libackbox-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
    "Durable outbox with acknowledgements, the C++ library
 For programs in C++20 that carry their outbox with them: a static library, headers, and files for CMake and
 pkg-config. Also the header of the C functions, and what a program in C is linked with.")
set(shared_package)
if(TARGET ackbox_shared)
  set(shared_package "libackbox0 (= ${PROJECT_VERSION}), ")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "${shared_package}libboost1.81-dev, libsqlitecpp-dev (>= 3.2), libsqlite3-dev (>= 3.40), libsimdjson-dev (>= 3.0), libssl-dev (>= 3.0)")

set(CPACK_DEBIAN_SHARED_PACKAGE_NAME libackbox0)
set(CPACK_DEBIAN_SHARED_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_SHARED_DESCRIPTION
    "Durable outbox with acknowledgements, the shared library
 For programs in C, and in languages that call C, that carry their outbox with them: they send, receive and settle
 messages without the daemon.")
set(CPACK_DEBIAN_SHARED_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SHARED_PACKAGE_CONTROL_EXTRA
    "${PROJECT_SOURCE_DIR}/cmake/debian/shlibs;${PROJECT_SOURCE_DIR}/cmake/debian/triggers")
include(CPack)
