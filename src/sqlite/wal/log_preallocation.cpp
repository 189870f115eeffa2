#include "sqlite/wal/log_preallocation.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace ackbox::sqlite {
namespace {

// The size of one write, because SQLite's own VFS masks a length to 17 bits.
constexpr std::int64_t kZeroBytes = 64 * 1024;
constexpr std::array<std::byte, kZeroBytes> kZeros{};

}  // namespace

void LogPreallocation::extendBehind(std::int64_t end) noexcept {
  if (end <= end_) {
    return;
  }
  sqlite3_int64 length = 0;
  if (methods_->xFileSize(file_, &length) != SQLITE_OK) {
    return;
  }
  if (length <= end) {
    const std::int64_t wanted = end + std::min(end, kBytesMax);
    while (length < wanted) {
      const std::int64_t bytes = std::min<std::int64_t>(kZeroBytes, wanted - length);
      if (methods_->xWrite(file_, kZeros.data(), static_cast<int>(bytes), length) != SQLITE_OK) {
        // So that it is not tried again with each commit.
        length = wanted;
        break;
      }
      length += bytes;
    }
  }
  end_ = length;
}

}  // namespace ackbox::sqlite
