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
  /// A connection, and when it was opened.
  struct Connection {
    std::shared_ptr<Stream> stream = nullptr;
    SteadyTime bornAt = {};
  };

  ConnectionPool(const boost::asio::any_io_executor& executor, std::shared_ptr<Clock> clock,
                 std::chrono::milliseconds idleTimeout, std::chrono::milliseconds connectionAge);

  /// The connection used last; without a stream when none is left that is young enough and that the peer has not
  /// visibly closed.
  [[nodiscard]] Connection take(const std::string& place);

  /// Keeps a connection on which an exchange ended cleanly, unless it has lived its time.
  void give(const std::string& place, Connection connection);

  /// Closes the one that has been idle longest. False if none is idle.
  bool closeOldest();

  /// Closes all, and whatever is given later.
  void close();

private:
  struct Idle {
    Connection connection;
    SteadyTime idleSince;
    SteadyTime closeAt;
  };

  void sweep();
  void setAlarm();

  const std::shared_ptr<Clock> clock_;
  const std::chrono::milliseconds idleTimeout_;
  const std::chrono::milliseconds connectionAge_;
  const std::unique_ptr<Alarm> alarm_;
  bool alarmSet_ = false;
  bool closed_ = false;
  // In each list the one that was used last stands last.
  std::map<std::string, std::vector<Idle>> idle_;
};

}  // namespace ackbox::transport
