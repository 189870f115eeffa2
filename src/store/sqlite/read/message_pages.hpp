#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "ackbox/dead_letters.hpp"
#include "ackbox/message_page.hpp"
#include "ackbox/options.hpp"
#include "sqlite/statement.hpp"
#include "store/reader.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {

/// The maximum number of rows that a page looks at, so that a filter that chooses few does not delay other readers.
/// Limits are from 1 to this number.
inline constexpr std::size_t kPageLooks = 10'000;
void requirePageLimit(std::size_t limit);

/// The columns that `infoOf` reads, from `o` (#outbox), `s` (#sessions) and `p` (#peers).
[[nodiscard]] std::string infoColumns();
[[nodiscard]] MessageInfo infoOf(const Query& query);

/// Reads messages page by page.
///
/// Thread-safety: that of the connection.
class MessagePages {
public:
  MessagePages(sqlite3* connection, const OutboxOptions& options);

  [[nodiscard]] DeadLetterPage deadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] std::vector<MessageInfo> newestDeadLetters(std::size_t limit);
  [[nodiscard]] StoredPage storedDeadLetters(const DeadLetterFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] std::vector<std::string> idsOfKey(std::string_view key, std::size_t limit);
  [[nodiscard]] MessagePage messages(const MessageFilter& filter, std::size_t limit, std::int64_t after);
  [[nodiscard]] StoredPage storedMessages(const MessageFilter& filter, std::size_t limit, std::int64_t after);

private:
  /// Reads the row once more, with all fields that its checksum covers.
  [[nodiscard]] StoredMessage storedOf(const Query& query);
  [[nodiscard]] Query query(Statement& statement, const DeadLetterFilter& filter, std::int64_t after);
  /// The statement that finds messages in this state and order without reading more rows than it must.
  [[nodiscard]] Statement& listingOf(const MessageFilter& filter);

  const OutboxOptions options_;
  Statement deadLetters_;
  Statement newestDeadLetters_;
  Statement storedDeadLetters_;
  Statement messages_;
  Statement failedMessages_;
  Statement sendingMessages_;
  Statement newestMessages_;
  Statement newestFailedMessages_;
  Statement newestSendingMessages_;
  Statement info_;
  Statement storedMessages_;
  Statement idsOfKey_;
  Statement row_;
};

}  // namespace ackbox::store::sqlite
