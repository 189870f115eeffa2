#pragma once

#include <sqlite3.h>

namespace ackbox::testing {

/// The platform's file of a VFS in front of it: it follows a `File` in the
/// same allocation; the first member of `File` is a `sqlite3_file`.
template <typename File>
[[nodiscard]] sqlite3_file* platformFile(sqlite3_file* file) noexcept {
  return reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
}

/// Calls this method of the platform's file.
template <typename File, auto Method, typename Result, typename... Arguments>
Result passOn(sqlite3_file* file, Arguments... arguments) {
  sqlite3_file* const real = platformFile<File>(file);
  return (real->pMethods->*Method)(real, arguments...);
}

/// Methods that pass every call on to the platform's file.
template <typename File>
[[nodiscard]] sqlite3_io_methods passingMethods() noexcept {
  using Methods = sqlite3_io_methods;
  Methods methods{};
  methods.iVersion = 2;
  methods.xClose = passOn<File, &Methods::xClose>;
  methods.xRead = passOn<File, &Methods::xRead>;
  methods.xWrite = passOn<File, &Methods::xWrite>;
  methods.xTruncate = passOn<File, &Methods::xTruncate>;
  methods.xSync = passOn<File, &Methods::xSync>;
  methods.xFileSize = passOn<File, &Methods::xFileSize>;
  methods.xLock = passOn<File, &Methods::xLock>;
  methods.xUnlock = passOn<File, &Methods::xUnlock>;
  methods.xCheckReservedLock = passOn<File, &Methods::xCheckReservedLock>;
  methods.xFileControl = passOn<File, &Methods::xFileControl>;
  methods.xSectorSize = passOn<File, &Methods::xSectorSize>;
  methods.xDeviceCharacteristics = passOn<File, &Methods::xDeviceCharacteristics>;
  methods.xShmMap = passOn<File, &Methods::xShmMap>;
  methods.xShmLock = passOn<File, &Methods::xShmLock>;
  methods.xShmBarrier = passOn<File, &Methods::xShmBarrier>;
  methods.xShmUnmap = passOn<File, &Methods::xShmUnmap>;
  return methods;
}

}  // namespace ackbox::testing
