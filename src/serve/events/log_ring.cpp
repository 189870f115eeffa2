#include "serve/events/log_ring.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::serve {
namespace {

constexpr std::size_t kEntriesMax = 256;
// A record may be long, because it contains values from a caller, such as a filter.
constexpr std::size_t kBytesMax = std::size_t{512} * 1024;
// Numbers reserved for each millisecond before the start of the process: its own numbers begin above them.
constexpr std::uint64_t kPerMillisecond = 1'000;

}  // namespace

LogRing::LogRing(WallTime startedAt)
    : newest_(static_cast<std::uint64_t>(startedAt.time_since_epoch().count()) * kPerMillisecond) {}

void LogRing::add(const LogRecord& record) {
  if (record.level < LogLevel::info) {
    return;
  }
  std::string json = toJson(record);
  const MutexLock lock(mutex_);
  bytes_ += json.size();
  entries_.push_back({++newest_, std::move(json)});
  while (entries_.size() > kEntriesMax || bytes_ > kBytesMax) {
    bytes_ -= entries_.front().json.size();
    entries_.pop_front();
  }
}

std::deque<LogRing::Entry> LogRing::after(std::uint64_t id) const {
  const MutexLock lock(mutex_);
  const auto first = std::ranges::upper_bound(entries_, id, {}, &Entry::id);
  return {first, entries_.end()};
}

std::uint64_t LogRing::newest() const {
  const MutexLock lock(mutex_);
  return newest_;
}

}  // namespace ackbox::serve
