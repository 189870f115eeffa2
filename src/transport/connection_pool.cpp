#include "transport/connection_pool.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ackbox::transport {
namespace {

// A healthy idle connection has nothing to read. The end of the stream means that the peer closed it; bytes that
// nobody asked for would be taken for the next answer.
bool isQuiet(Socket& socket) {
  char byte = 0;
  const ssize_t got = ::recv(socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

}  // namespace

ConnectionPool::ConnectionPool(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock,
                               std::chrono::milliseconds idleTimeout)
    : clock_(std::move(clock)), idleTimeout_(idleTimeout), alarm_(clock_->makeAlarm(executor)) {}

std::shared_ptr<Socket> ConnectionPool::take(const std::string& authority) {
  const auto found = idle_.find(authority);
  if (found == idle_.end()) {
    return nullptr;
  }
  std::vector<Idle>& list = found->second;
  const SteadyTime now = clock_->steadyNow();
  std::shared_ptr<Socket> taken;
  while (!taken && !list.empty()) {
    Idle last = std::move(list.back());
    list.pop_back();
    if (last.closeAt > now && isQuiet(*last.socket)) {
      taken = std::move(last.socket);
    }
  }
  if (list.empty()) {
    idle_.erase(found);
  }
  return taken;
}

void ConnectionPool::give(const std::string& authority, std::shared_ptr<Socket> socket) {
  if (closed_) {
    return;
  }
  idle_[authority].push_back({.socket = std::move(socket), .closeAt = clock_->steadyNow() + idleTimeout_});
  setAlarm();
}

void ConnectionPool::close() {
  closed_ = true;
  alarm_->cancel();
  idle_.clear();
}

void ConnectionPool::sweep() {
  alarmSet_ = false;
  const SteadyTime now = clock_->steadyNow();
  for (auto& [authority, list] : idle_) {
    std::erase_if(list, [now](const Idle& idle) { return idle.closeAt <= now; });
  }
  std::erase_if(idle_, [](const auto& entry) { return entry.second.empty(); });
  setAlarm();
}

// One alarm for all, at the first end; connections that were used again meanwhile only make a sweep find nothing.
void ConnectionPool::setAlarm() {
  if (alarmSet_ || idle_.empty()) {
    return;
  }
  SteadyTime first = SteadyTime::max();
  for (const auto& [authority, list] : idle_) {
    first = std::min(first, list.front().closeAt);
  }
  alarmSet_ = true;
  alarm_->set(first, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      self->sweep();
    }
  });
}

}  // namespace ackbox::transport
