#include "sqlite/wal/log_buffer.hpp"

#include <algorithm>

namespace ackbox::store {
namespace {

constexpr int kDescriptionBytes = 24;
// The most that SQLite's own VFS writes at once: it takes no more than 17 bits of a length. 31 pages of 4 KiB.
constexpr std::size_t kBufferBytes = 128 * 1'024 - 1;

// Bytes 4 to 7: the database's size in pages after the commit; 0 where more pages follow.
bool describesCommit(const std::byte* description) {
  return std::any_of(description + 4, description + 8, [](std::byte byte) { return byte != std::byte{0}; });
}

}  // namespace

LogBuffer::LogBuffer(sqlite3_file* file, const sqlite3_io_methods* methods) : file_(file), methods_(methods) {
  // Nothing is allocated later, inside SQLite's calls.
  bytes_.reserve(kBufferBytes);
}

int LogBuffer::write(const void* bytes, int size, std::int64_t offset) {
  if (!gathers(size, offset)) {
    return writeNow(bytes, size, offset);
  }
  const auto* const from = static_cast<const std::byte*>(bytes);
  if (!awaitsPage_) {
    // Before a description, so that no page is parted from its own: then it would go out alone.
    if (bytes_.size() + kDescriptionBytes + pageBytes_ > kBufferBytes) {
      if (const int refused = flush(); refused != SQLITE_OK) {
        return refused;
      }
    }
    commits_ = describesCommit(from);
  }
  if (bytes_.empty()) {
    start_ = offset;
  }
  if (awaitsPage_) {
    pageBytes_ = static_cast<std::size_t>(size);
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
      return refused;
    }
  }
  bytes_.clear();
  awaitsPage_ = false;
  return SQLITE_OK;
}

bool LogBuffer::holds(int size, std::int64_t offset) const noexcept {
  return !bytes_.empty() && offset < end_ && start_ < offset + size;
}

void LogBuffer::forget() noexcept {
  bytes_.clear();
  awaitsPage_ = false;
  commits_ = false;
  end_ = -1;
}

// What does not continue the transaction's pages changes one that it has written: the page again, or its description
// with another checksum. The last such call may be the last of the commit.
bool LogBuffer::gathers(int size, std::int64_t offset) const noexcept {
  if (awaitsPage_) {
    return offset == end_ && size > kDescriptionBytes && bytes_.size() + static_cast<std::size_t>(size) <= kBufferBytes;
  }
  return size == kDescriptionBytes && (end_ < 0 || offset == end_);
}

int LogBuffer::writeNow(const void* bytes, int size, std::int64_t offset) {
  if (const int refused = flush(); refused != SQLITE_OK) {
    return refused;
  }
  end_ = std::max(end_, offset + size);
  return methods_->xWrite(file_, bytes, size, offset);
}

}  // namespace ackbox::store
