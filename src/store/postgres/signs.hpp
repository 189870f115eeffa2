#pragma once

#include <memory>
#include <string>
#include <utility>

#include "postgres/connection.hpp"
#include "store/place.hpp"
#include "store/postgres/names.hpp"

namespace ackbox::store::postgres {

/// Reports to the other processes that rows were committed, after the commit and on a connection of its own: in the
/// commit's transaction, a NOTIFY would let one transaction of the whole server commit at a time. While one is under
/// way, no other is begun. Those that get none find the rows at their next poll.
///
/// Thread-safety: none.
class Notifier {
public:
  /// `token` keeps a process from hearing itself; no quotes.
  Notifier(std::string location, std::string token) : location_(std::move(location)), token_(std::move(token)) {}

  /// Does not wait, except for a connection at the first time, to the server of `store`. Never throws: a sign is only a
  /// hint.
  void notify(const Connection& store) noexcept;

private:
  const std::string location_;
  const std::string token_;
  // Null: not made yet, or lost.
  std::unique_ptr<Connection> connection_;
  // So many calls do nothing, after one that could not connect.
  int rest_ = 0;
};

/// Hears the notifiers of other processes.
class NotifiedSigns final : public store::Signs {
public:
  /// Throws `Error`.
  NotifiedSigns(const std::string& location, std::string token);

  [[nodiscard]] int descriptor() const noexcept override;
  [[nodiscard]] Heard take() noexcept override;

private:
  Connection connection_;
  const std::string token_;
};

}  // namespace ackbox::store::postgres
