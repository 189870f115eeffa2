#pragma once

#include <sqlite3.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "sqlite/wal/log_format.hpp"

namespace ackbox::sqlite {

/// The beginning of the log's index in shared memory, in the machine's order of bytes.
/// Source: https://www.sqlite.org/walformat.html#the_wal_index_header
struct LogIndexHeader {
  std::uint32_t version;
  std::uint32_t unused;
  std::uint32_t changes;
  std::uint8_t isSet;
  std::uint8_t isBigEndian;
  // 65,536 is 1.
  std::uint16_t pageBytes;
  std::uint32_t frames;
  std::uint32_t pages;
  std::array<std::uint32_t, 2> checksum;
  LogSalt salt;
};
static_assert(sizeof(LogIndexHeader) == 40);

/// Returns SQLITE_NOTFOUND if the index is not in the known format.
[[nodiscard]] inline int readLogIndex(sqlite3_file* database, LogIndexHeader& header) noexcept {
  constexpr std::uint32_t kVersion = 3'007'000;
  constexpr int kRegionBytes = 32 * 1'024;
  void volatile* mapped = nullptr;
  if (database->pMethods->iVersion < 2) {
    return SQLITE_NOTFOUND;
  }
  if (const int refused = database->pMethods->xShmMap(database, 0, kRegionBytes, 0, &mapped); refused != SQLITE_OK) {
    return refused;
  }
  if (mapped == nullptr) {
    return SQLITE_NOTFOUND;
  }
  // The connection has a snapshot or the writer lock, so the log cannot restart meanwhile.
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): volatile
  std::memcpy(&header, const_cast<const void*>(mapped), sizeof header);
  return header.version == kVersion && header.isSet == 1 ? SQLITE_OK : SQLITE_NOTFOUND;
}

}  // namespace ackbox::sqlite
