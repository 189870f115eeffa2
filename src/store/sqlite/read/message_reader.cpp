#include "store/sqlite/read/message_reader.hpp"

#include <utility>

#include "store/sqlite/outbound/attempt_log.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/peers/liveness.hpp"
#include "store/sqlite/read/message_pages.hpp"

namespace ackbox::store::sqlite {

MessageReader::MessageReader(sqlite3* connection, const OutboxOptions& options, PeerLookup peers)
    : sidecar_(ownersFile(connection, options.tablePrefix)),
      find_(connection,
            "SELECT " + infoColumns() +
                " FROM #outbox AS o JOIN #sessions AS s ON s.id=o.session_id JOIN #peers AS p ON p.id=s.peer_id "
                "WHERE o.id=" +
                keyOfMessage(),
            options.tablePrefix),
      attempts_(connection, attemptSelect(), options.tablePrefix),
      owners_(connection, "SELECT id,pid FROM #owners ORDER BY id", options.tablePrefix),
      explainer_(connection, options, std::move(peers)) {}

std::optional<MessageInfo> MessageReader::find(std::string_view messageId) {
  Query query(find_, messageId);
  if (!query.next()) {
    return std::nullopt;
  }
  MessageInfo message = infoOf(query);
  message.attempts = attemptsOf(attempts_, messageId);
  return message;
}

std::optional<Explanation> MessageReader::explain(std::string_view messageId, StatsReader& stats) {
  std::optional<MessageInfo> message = find(messageId);
  if (!message) {
    return std::nullopt;
  }
  Explanation explanation;
  explanation.reasons = explainer_.reasons(*message, stats.oldestKey());
  explanation.message = std::move(*message);
  return explanation;
}

std::vector<std::int64_t> MessageReader::processIds() {
  std::vector<std::int64_t> live;
  Query query(owners_);
  while (query.next()) {
    if (ownerLives(sidecar_, query.integer(0))) {
      live.push_back(query.integer(1));
    }
  }
  return live;
}

}  // namespace ackbox::store::sqlite
