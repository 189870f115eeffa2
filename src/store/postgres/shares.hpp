#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "postgres/connection.hpp"
#include "store/decisions/sender_share.hpp"
#include "store/postgres/counts.hpp"
#include "store/postgres/memory.hpp"

namespace ackbox::store::postgres {

/// What is kept of each sender: differences, as of the counts.
class Shares final : public Memory {
public:
  Shares(Connection& connection, Counts& counts) : connection_(connection), counts_(counts) {}

  /// With the changes of this transaction.
  [[nodiscard]] SenderShare of(std::string_view source);
  void add(std::string_view source, const SenderShare& difference);

  void flush() override;
  void rolledBack() noexcept override { changes_.clear(); }
  void scopeUndone() noexcept override { changes_.clear(); }

private:
  Connection& connection_;
  Counts& counts_;
  std::map<std::string, SenderShare, std::less<>> changes_;
};

}  // namespace ackbox::store::postgres
