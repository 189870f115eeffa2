#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/connection.hpp"
#include "store/postgres/names.hpp"
#include "store/reader.hpp"

namespace ackbox::store::postgres {

/// The rows that a page looks at.
inline constexpr std::size_t kPageLooks = 10'000;

/// Throws `OptionError`.
void requirePageLimit(std::size_t limit);

/// Messages, in pages. In the caller's transaction.
class MessagePages {
public:
  MessagePages(Connection& connection, const OutboxOptions& options) : connection_(connection), options_(options) {}

  [[nodiscard]] std::optional<MessageInfo> find(std::string_view messageId);
  [[nodiscard]] std::optional<Frame> frame(std::string_view messageId);
  [[nodiscard]] DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] std::vector<MessageInfo> newestDeadLetters(std::size_t limit);
  [[nodiscard]] MessagePage messages(const MessageFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] StoredPage storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] StoredPage storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after);

private:
  Connection& connection_;
  const OutboxOptions& options_;
};

}  // namespace ackbox::store::postgres
