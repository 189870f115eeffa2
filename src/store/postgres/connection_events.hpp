#pragma once

#include <chrono>
#include <string>

namespace ackbox::store::postgres {

/// What happens to a store's connection. Called on the thread that uses the store, possibly within a transaction: must
/// not block, must not use the store.
class ConnectionEvents {
public:
  virtual ~ConnectionEvents() = default;

  /// The connection was lost, and is made anew. Once for each outage, before the first attempt.
  virtual void lost(const std::string& cause) = 0;
  /// There is a connection again, so long after `lost`.
  virtual void back(std::chrono::milliseconds away) = 0;
  /// Another server has the database than before, each named as `system identifier/timeline`: it may lack commits of
  /// the former one, as a standby may that was promoted. At least once for each change that a process of the database
  /// sees.
  virtual void serverChanged(const std::string& former, const std::string& present) = 0;
};

}  // namespace ackbox::store::postgres
