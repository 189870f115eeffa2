#include "transport/connection_pool.hpp"

#include <algorithm>
#include <utility>

namespace ackbox::transport {

ConnectionPool::ConnectionPool(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock,
                               std::chrono::milliseconds idleTimeout, std::chrono::milliseconds connectionAge)
    : clock_(std::move(clock)),
      idleTimeout_(idleTimeout),
      connectionAge_(connectionAge),
      alarm_(clock_->makeAlarm(executor)) {}

ConnectionPool::Connection ConnectionPool::take(const std::string& place) {
  const auto found = idle_.find(place);
  if (found == idle_.end()) {
    return {};
  }
  std::vector<Idle>& list = found->second;
  const SteadyTime now = clock_->steadyNow();
  Connection taken;
  while (!taken.stream && !list.empty()) {
    Idle last = std::move(list.back());
    list.pop_back();
    if (last.closeAt > now && last.connection.stream->isQuiet()) {
      taken = std::move(last.connection);
    }
  }
  if (list.empty()) {
    idle_.erase(found);
  }
  return taken;
}

void ConnectionPool::give(const std::string& place, Connection connection) {
  const SteadyTime now = clock_->steadyNow();
  const SteadyTime closeAt = std::min(now + idleTimeout_, connection.bornAt + connectionAge_);
  if (closed_ || closeAt <= now) {
    return;
  }
  idle_[place].push_back({.connection = std::move(connection), .idleSince = now, .closeAt = closeAt});
  setAlarm();
}

bool ConnectionPool::closeOldest() {
  const auto oldest =
      std::ranges::min_element(idle_, {}, [](const auto& entry) { return entry.second.front().idleSince; });
  if (oldest == idle_.end()) {
    return false;
  }
  oldest->second.erase(oldest->second.begin());
  if (oldest->second.empty()) {
    idle_.erase(oldest);
  }
  return true;
}

void ConnectionPool::close() {
  closed_ = true;
  alarm_->cancel();
  idle_.clear();
}

void ConnectionPool::sweep() {
  alarmSet_ = false;
  const SteadyTime now = clock_->steadyNow();
  for (auto& [place, list] : idle_) {
    std::erase_if(list, [now](const Idle& idle) { return idle.closeAt <= now; });
  }
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
  setAlarm();
}

// One alarm for all, at the first expiry. If connections were used again meanwhile, the sweep finds nothing.
void ConnectionPool::setAlarm() {
  if (alarmSet_ || idle_.empty()) {
    return;
  }
  SteadyTime first = SteadyTime::max();
  for (const auto& [place, list] : idle_) {
    for (const Idle& idle : list) {
      first = std::min(first, idle.closeAt);
    }
  }
  alarmSet_ = true;
  alarm_->set(first, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->sweep();
    }
  });
}

}  // namespace ackbox::transport
