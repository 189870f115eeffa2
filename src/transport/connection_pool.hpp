#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ackbox/clock.hpp"
#include "transport/stream.hpp"

namespace ackbox::transport {

/// The idle keep-alive connections of one client, by where they lead and with which certificates they began.
///
/// Thread-safety: none; owned by the client's strand.
class ConnectionPool : public std::enable_shared_from_this<ConnectionPool> {
public:
  ConnectionPool(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock,
                 std::chrono::milliseconds idleTimeout);

  /// The connection used last, or null when none is left that the peer has not visibly closed.
  [[nodiscard]] std::shared_ptr<Stream> take(const std::string& place);

  /// Keeps a connection on which an exchange ended cleanly.
  void give(const std::string& place, std::shared_ptr<Stream> stream);

  /// Closes the one that was left idle first. False: there is none.
  bool closeOldest();

  /// Closes all, and whatever is given later.
  void close();

private:
  struct Idle {
    std::shared_ptr<Stream> stream;
    SteadyTime closeAt;
  };

  void sweep();
  void setAlarm();

  const std::shared_ptr<Clock> clock_;
  const std::chrono::milliseconds idleTimeout_;
  const std::unique_ptr<Alarm> alarm_;
  bool alarmSet_ = false;
  bool closed_ = false;
  // In each list the one that was used last stands last.
  std::map<std::string, std::vector<Idle>> idle_;
};

}  // namespace ackbox::transport
