#include "sqlite/wal/log_rewrite.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "sqlite/wal/log_checksum.hpp"
#include "sqlite/wal/log_format.hpp"
#include "sqlite/wal/log_index.hpp"

namespace ackbox::sqlite {
namespace {

// SQLite's own VFS takes no more in one call, see LogBuffer.
constexpr std::size_t kPieceBytes = 128 * 1'024 - 1;
// A log of up to this many frames is written about as quickly as its header alone, so the header is not tried first.
constexpr std::uint32_t kShortFrames = 64;

class Rewrite {
public:
  Rewrite(sqlite3_file* log, const sqlite3_io_methods& methods, const LogIndexHeader& index)
      : log_(log), methods_(methods), index_(index) {}

  /// See `rewriteLog`: clears the commit frame of each commit behind the last that SQLite published. An opening would
  /// only use frames that continue the chain of checksums; frames behind a break are left as they are.
  int retract() {
    std::vector<std::byte> frame(kLogHeaderBytes);
    if (const int code = read(frame, 0); code != SQLITE_OK || !isOurs(frame.data() + 16)) {
      return code == SQLITE_CORRUPT ? SQLITE_OK : code;
    }
    LogChecksum sum((numberAt(frame.data()) & 1U) != 0);
    if (index_.frames == 0) {
      sum.add(std::span(frame).first(24));
    } else {
      sum.continueFrom(index_.checksum);
    }
    frame.resize(kFrameHeaderBytes + (index_.pageBytes == 1 ? 65'536U : index_.pageBytes));
    const auto frameBytes = static_cast<std::int64_t>(frame.size());
    bool isChained = true;
    bool isRefused = false;
    for (std::int64_t place = kLogHeaderBytes + index_.frames * frameBytes;; place += frameBytes) {
      // A read behind the end of the file returns zeros.
      const int code = read(frame, place);
      if (code != SQLITE_OK && (code != SQLITE_CORRUPT || !commits(frame.data()))) {
        return code == SQLITE_CORRUPT ? SQLITE_OK : code;
      }
      sum.add(std::span(frame).first(8));
      sum.add(std::span(frame).subspan(kFrameHeaderBytes));
      isChained = isChained && sum.isAt(frame.data() + 16);
      if (!isOurs(frame.data() + 8) || (!isChained && !isRefused)) {
        return SQLITE_OK;
      }
      if (commits(frame.data())) {
        // Where SQLite pads a commit, its last frame may be unfinished.
        isRefused = true;
        constexpr std::array<std::byte, kFrameHeaderBytes> kNoFrame{};
        if (const int refused = write(kNoFrame, place); refused != SQLITE_OK) {
          return refused;
        }
      }
    }
  }

  int all() {
    std::vector<std::byte> piece(kLogHeaderBytes);
    if (const int refused = read(piece, 0); refused != SQLITE_OK) {
      return refused;
    }
    const std::uint32_t magic = numberAt(piece.data());
    const auto pageBytes = static_cast<std::size_t>(numberAt(piece.data() + 8));
    LogChecksum sum((magic & 1U) != 0);
    sum.add(std::span(piece).first(24));
    if ((magic & ~1U) != kLogMagic || !isPageSize(static_cast<std::int64_t>(pageBytes)) || !isOurs(piece.data() + 16) ||
        !sum.isAt(piece.data() + 24)) {
      return SQLITE_CORRUPT;
    }
    if (const int refused = write(piece, 0); refused != SQLITE_OK) {
      return refused;
    }
    if (index_.frames > kShortFrames) {
      if (const int refused = sync(); refused != SQLITE_OK) {
        return refused;
      }
    }
    if (const int refused = frames(kFrameHeaderBytes + pageBytes, sum); refused != SQLITE_OK) {
      return refused;
    }
    return sync();
  }

  int sync() { return methods_.xSync(log_, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY); }

private:
  int frames(std::size_t frameBytes, LogChecksum& sum) {
    const std::size_t inPiece = std::max<std::size_t>(1, kPieceBytes / frameBytes);
    std::vector<std::byte> piece;
    std::int64_t place = kLogHeaderBytes;
    for (std::size_t left = index_.frames; left > 0;) {
      const std::size_t count = std::min(left, inPiece);
      piece.resize(count * frameBytes);
      if (const int refused = read(piece, place); refused != SQLITE_OK) {
        return refused;
      }
      for (std::size_t at = 0; at < piece.size(); at += frameBytes) {
        const std::span<const std::byte> frame = std::span<const std::byte>(piece).subspan(at, frameBytes);
        sum.add(frame.first(8));
        sum.add(frame.subspan(kFrameHeaderBytes));
        if (!isOurs(frame.data() + 8) || !sum.isAt(frame.data() + 16)) {
          return SQLITE_CORRUPT;
        }
      }
      if (const int refused = write(piece, place); refused != SQLITE_OK) {
        return refused;
      }
      place += static_cast<std::int64_t>(piece.size());
      left -= count;
    }
    return sum == index_.checksum ? SQLITE_OK : SQLITE_CORRUPT;
  }

  [[nodiscard]] bool isOurs(const std::byte* salt) const noexcept {
    return std::equal(index_.salt.begin(), index_.salt.end(), salt);
  }
  int read(std::span<std::byte> bytes, std::int64_t offset) {
    const int code = methods_.xRead(log_, bytes.data(), static_cast<int>(bytes.size()), offset);
    return code == SQLITE_IOERR_SHORT_READ ? SQLITE_CORRUPT : code;
  }
  int write(std::span<const std::byte> bytes, std::int64_t offset) {
    return methods_.xWrite(log_, bytes.data(), static_cast<int>(bytes.size()), offset);
  }

  sqlite3_file* const log_;
  const sqlite3_io_methods& methods_;
  const LogIndexHeader& index_;
};

}  // namespace

int rewriteLog(sqlite3_file* log, const sqlite3_io_methods& methods, sqlite3_file* database) noexcept {
  try {
    LogIndexHeader index{};
    if (const int refused = readLogIndex(database, index); refused != SQLITE_OK) {
      return refused;
    }
    Rewrite rewrite(log, methods, index);
    if (const int refused = rewrite.retract(); refused != SQLITE_OK) {
      return refused;
    }
    // The next commit restarts the log, with a new header.
    return index.frames == 0 ? rewrite.sync() : rewrite.all();
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  }
}

}  // namespace ackbox::sqlite
