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

/// The idle keep-alive connections of one client, by destination, by the generation of their certificates
/// and by the networks that were permitted.
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

  /// Takes the connection used last. Its stream is null if no connection is left that is young enough and that the peer
  /// has not visibly closed.
  [[nodiscard]] Connection take(const std::string& place);

  /// Keeps a connection after a clean exchange, unless it has reached its maximum age.
  void give(const std::string& place, Connection connection);

  /// Closes the connection that has been idle longest. False if no connection is idle.
  bool closeOldest();

  /// Closes all connections, and any that is given later.
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
  // Each list is ordered by last use; the most recent is last.
  std::map<std::string, std::vector<Idle>> idle_;
};

}  // namespace ackbox::transport
