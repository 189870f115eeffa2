#include "sqlite/wal/log_buffer.hpp"

#include <algorithm>

namespace ackbox::sqlite {
namespace {

// The most that SQLite's own VFS writes in one call, because it masks a length to 17 bits. 31 pages of 4 KiB.
constexpr std::size_t kBufferBytes = 128 * 1'024 - 1;

}  // namespace

LogBuffer::LogBuffer(sqlite3_file* file, const sqlite3_io_methods* methods) : file_(file), methods_(methods) {
  // Reserved here, so that nothing is allocated later inside SQLite's calls.
  bytes_.reserve(kBufferBytes);
}

int LogBuffer::write(const void* bytes, int size, std::int64_t offset) {
  const auto* const from = static_cast<const std::byte*>(bytes);
  if (whyOff() == nullptr) {
    if (const char* const reason = unusual(from, size, offset); reason != nullptr) {
      turnOff(reason);
    }
  }
  if (whyOff() != nullptr || !isAppend(size, offset)) {
    return writeNow(bytes, size, offset);
  }
  if (!awaitsPage_) {
    // Flushed before a header, so that a page is always written together with its header.
    if (bytes_.size() + kFrameHeaderBytes + static_cast<std::size_t>(pageBytes_) > kBufferBytes) {
      if (const int refused = flush(); refused != SQLITE_OK) {
        return refused;
      }
    }
    commits_ = commits(from);
  }
  if (bytes_.empty()) {
    start_ = offset;
  }
  bytes_.insert(bytes_.end(), from, from + size);
  end_ = offset + size;
  awaitsPage_ = !awaitsPage_;
  return !awaitsPage_ && commits_ ? flush() : SQLITE_OK;
}

int LogBuffer::flush() {
  if (!bytes_.empty()) {
    if (const int refused = methods_->xWrite(file_, bytes_.data(), static_cast<int>(bytes_.size()), start_);
        refused != SQLITE_OK) {
      failed_ = true;
      return refused;
    }
  }
  failed_ = false;
  bytes_.clear();
  awaitsPage_ = false;
  return SQLITE_OK;
}

bool LogBuffer::holds(int size, std::int64_t offset) const noexcept {
  return !bytes_.empty() && offset < end_ && start_ < offset + size;
}

// A commit that is marked as the file format prescribes is in the file by now. If its write failed, SQLite publishes
// nothing.
void LogBuffer::beforePublish() noexcept {
  if (isLocked_ && !bytes_.empty()) {
    if (!failed_) {
      // A failure cannot be reported here. The check at open ensures that this is never reached.
      (void)flush();
    }
    turnOff("SQLite showed other connections frames before it had written the one that commits them");
  }
}

void LogBuffer::endTransaction() noexcept {
  bytes_.clear();
  isLocked_ = false;
  awaitsPage_ = false;
  commits_ = false;
  failed_ = false;
  end_ = -1;
}

void LogBuffer::turnOff(const char* reason) noexcept {
  if (whyOff() == nullptr) {
    whyOff_.store(reason, std::memory_order_relaxed);
  }
}

// A write that does not continue the transaction's frames changes an earlier one: its page, or its header with another
// checksum. Such a call may be the last of the commit.
bool LogBuffer::isAppend(int size, std::int64_t offset) const noexcept {
  return awaitsPage_ ? offset == end_ : size == kFrameHeaderBytes && (end_ < 0 || offset == end_);
}

const char* LogBuffer::unusual(const std::byte* bytes, int size, std::int64_t offset) noexcept {
  if (!isLocked_) {
    return "SQLite wrote to the log without the writer lock";
  }
  if (offset == 0 && size == kLogHeaderBytes) {
    pageBytes_ = static_cast<int>(numberAt(bytes + 8));
    std::copy_n(bytes + 16, salt_.size(), salt_.begin());
    return isPageSize(pageBytes_) ? nullptr : "the log's header is not as the file format has it";
  }
  if (isAppend(size, offset)) {
    return awaitsPage_ ? unusualPage(size, offset) : unusualHeader(bytes);
  }
  return isRewrite(size, offset) ? nullptr : "SQLite wrote to the log in pieces that are not known";
}

const char* LogBuffer::unusualHeader(const std::byte* bytes) noexcept {
  const std::byte* const salt = bytes + 8;
  if (end_ < 0) {
    std::copy_n(salt, salt_.size(), salt_.begin());
  }
  // Once the transaction has written a page again, SQLite leaves salts and checksums at 0 until it commits.
  const bool isUnfinished =
      std::all_of(salt, bytes + kFrameHeaderBytes, [](std::byte byte) { return byte == std::byte{0}; });
  const bool isFrame = isUnfinished || std::equal(salt_.begin(), salt_.end(), salt);
  // Bytes 0 to 3 are the page's number.
  return isFrame && numberAt(bytes) != 0 ? nullptr : "a frame's header is not as the file format has it";
}

const char* LogBuffer::unusualPage(int size, std::int64_t offset) noexcept {
  if (pageBytes_ == 0) {
    pageBytes_ = size;
  }
  const bool isPage = size == pageBytes_ && isPageSize(size) &&
                      (offset - kLogHeaderBytes - kFrameHeaderBytes) % (kFrameHeaderBytes + pageBytes_) == 0;
  return isPage ? nullptr : "a page of the log has not its size or its place";
}

bool LogBuffer::isRewrite(int size, std::int64_t offset) const noexcept {
  if (pageBytes_ == 0 || awaitsPage_ || offset < kLogHeaderBytes || offset >= end_) {
    return false;
  }
  const std::int64_t inFrame = (offset - kLogHeaderBytes) % (kFrameHeaderBytes + pageBytes_);
  return (inFrame == 0 && size == kFrameHeaderBytes) || (inFrame == kFrameHeaderBytes && size == pageBytes_);
}

int LogBuffer::writeNow(const void* bytes, int size, std::int64_t offset) {
  if (const int refused = flush(); refused != SQLITE_OK) {
    return refused;
  }
  end_ = std::max(end_, offset + size);
  return methods_->xWrite(file_, bytes, size, offset);
}

}  // namespace ackbox::sqlite
