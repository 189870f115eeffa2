#include "sqlite/wal/log_tail.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "sqlite/wal/log_checksum.hpp"
#include "sqlite/wal/log_format.hpp"
#include "sqlite/wal/log_index.hpp"

namespace ackbox::sqlite {
namespace {

constexpr std::int64_t kLooksMax = 20'000;
constexpr int kSaltAt = 8;

class Tail {
public:
  Tail(sqlite3_file* log, const LogIndexHeader& index, std::int64_t pageBytes)
      : log_(log), index_(index), frameBytes_(kFrameHeaderBytes + pageBytes) {}

  std::uint32_t commits() {
    std::array<std::byte, kLogHeaderBytes> head{};
    if (!read(head, 0)) {
      return 0;
    }
    LogSalt salt{};
    if (isHeader(head)) {
      std::copy_n(head.begin() + 16, salt.size(), salt.begin());
      if (index_.frames != 0 && salt != index_.salt) {
        return 0;
      }
    } else if (index_.frames == 0) {
      salt = likelySalt();
    }
    // The index of a log that will restart at the next commit already has another salt.
    const bool isLive = index_.frames == 0 && index_.salt != LogSalt{} && index_.salt != salt;
    return isLive || salt == LogSalt{} ? 0 : commitsOf(salt);
  }

private:
  using FrameHeader = std::array<std::byte, kFrameHeaderBytes>;

  // The log's salt where its header is damaged: the first that two neighbours share, or else the first frame's.
  LogSalt likelySalt() {
    LogSalt first{};
    LogSalt before{};
    FrameHeader frame{};
    for (std::int64_t at = 0; at < kLooksMax && read(frame, kLogHeaderBytes + at * frameBytes_); ++at) {
      LogSalt salt{};
      std::copy_n(frame.begin() + kSaltAt, salt.size(), salt.begin());
      if (salt == before && salt != LogSalt{}) {
        return salt;
      }
      first = at == 0 ? salt : first;
      before = salt;
    }
    return first;
  }

  std::uint32_t commitsOf(const LogSalt& salt) {
    std::uint32_t found = 0;
    FrameHeader frame{};
    for (std::int64_t at = index_.frames; at < index_.frames + kLooksMax; ++at) {
      if (!read(frame, kLogHeaderBytes + at * frameBytes_)) {
        break;
      }
      const bool isOurs = std::equal(salt.begin(), salt.end(), frame.begin() + kSaltAt);
      found += isOurs && sqlite::commits(frame.data()) ? 1U : 0U;
    }
    return found;
  }

  static bool isHeader(std::span<const std::byte> head) {
    const std::uint32_t magic = numberAt(head.data());
    LogChecksum sum((magic & 1U) != 0);
    sum.add(head.first(24));
    return (magic & ~1U) == kLogMagic && sum.isAt(head.data() + 24);
  }

  bool read(std::span<std::byte> bytes, std::int64_t offset) {
    return log_->pMethods->xRead(log_, bytes.data(), static_cast<int>(bytes.size()), offset) == SQLITE_OK;
  }

  sqlite3_file* const log_;
  const LogIndexHeader& index_;
  const std::int64_t frameBytes_;
};

std::int64_t pageBytesOf(sqlite3* connection) noexcept {
  sqlite3_stmt* statement = nullptr;
  std::int64_t bytes = 0;
  if (sqlite3_prepare_v2(connection, "PRAGMA page_size", -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW) {
    bytes = sqlite3_column_int64(statement, 0);
  }
  sqlite3_finalize(statement);
  return bytes;
}

}  // namespace

std::uint32_t unusedCommits(sqlite3* connection) noexcept {
  sqlite3_file* log = nullptr;
  sqlite3_file* database = nullptr;
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, static_cast<void*>(&log));
  sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&database));
  const std::int64_t pageBytes = pageBytesOf(connection);
  LogIndexHeader index{};
  if (log == nullptr || log->pMethods == nullptr || database == nullptr || database->pMethods == nullptr ||
      !isPageSize(pageBytes) || readLogIndex(database, index) != SQLITE_OK) {
    return 0;
  }
  return Tail(log, index, pageBytes).commits();
}

std::string whatLogLeftOut(sqlite3* connection) {
  const std::uint32_t commits = unusedCommits(connection);
  return commits == 0 ? std::string()
                      : "the log ends at a damaged or unfinished frame, and what was committed behind it was not used "
                        "(commits of the same generation: " +
                            std::to_string(commits) +
                            "): after a power cut this is normal for what was not acknowledged yet; otherwise "
                            "messages that were acknowledged are lost, so check the disk, and restore a backup where "
                            "they matter (docs/restore.md)";
}

}  // namespace ackbox::sqlite
