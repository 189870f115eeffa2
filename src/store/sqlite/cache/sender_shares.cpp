#include "store/sqlite/cache/sender_shares.hpp"

#include <utility>

namespace ackbox::store::sqlite {
namespace {

// The number of senders that are kept in memory.
constexpr std::size_t kSendersMax = 1'024;

std::string bytesOf(std::string_view column) {
  return std::string("coalesce(length(CAST(").append(column).append(" AS BLOB)),0)");
}

}  // namespace

std::string senderRows() {
  const std::string source = bytesOf("source");
  const std::string origin = bytesOf("origin");
  const std::string session = bytesOf("session");
  std::string sql =
      "(SELECT source,sum(sessions) AS sessions,sum(origins) AS origins,sum(marks) AS marks,sum(bytes) AS bytes,"
      "sum(inbox) AS inbox,sum(inbox_bytes) AS inbox_bytes FROM (SELECT source,1 AS sessions,0 AS origins,0 AS marks,";
  sql.append(std::to_string(kSessionBytes)).append("+2*(").append(source).append("+").append(origin).append("+");
  sql.append(session).append(
      ") AS bytes,0 AS inbox,0 AS inbox_bytes FROM #inbound_sessions UNION ALL SELECT source,0,1,0,");
  sql.append(std::to_string(kOriginBytes)).append("+2*(").append(source).append("+").append(origin);
  sql.append("),0,0 FROM #inbound_origins UNION ALL SELECT source,0,0,1,");
  sql.append(std::to_string(kMarkBytes)).append("+2*(").append(source).append("+").append(bytesOf("id"));
  sql.append("),0,0 FROM #processed_messages UNION ALL SELECT source,0,0,1,");
  sql.append(std::to_string(kResultBytes)).append("+2*(").append(source).append("+").append(origin).append("+");
  sql.append(session).append("+").append(bytesOf("frame_id")).append(")+").append(bytesOf("code")).append("+");
  sql.append(bytesOf("detail")).append("+").append(bytesOf("result")).append("+").append(bytesOf("type"));
  sql.append(",0,0 FROM #inbox_results UNION ALL SELECT source,0,0,0,0,1,").append(bytesOf("data"));
  return sql.append(" FROM #inbox) GROUP BY source)");
}

void recountSenders(sqlite3* connection, std::string_view prefix) {
  execute(connection,
          expand("DELETE FROM #inbound_senders; INSERT INTO #inbound_senders(source,sessions,origins,marks,"
                 "bytes,inbox,inbox_bytes) SELECT source,sessions,origins,marks,bytes,inbox,inbox_bytes FROM " +
                     senderRows() +
                     "; UPDATE #counters SET inbound_bytes=coalesce((SELECT sum(bytes) FROM "
                     "#inbound_senders),0), inbox_bytes=coalesce((SELECT sum(inbox_bytes) FROM "
                     "#inbound_senders),0), inbox=(SELECT count(*) FROM #inbox)",
                 prefix));
}

SenderShares::SenderShares(sqlite3* connection, std::string_view prefix, Counters& counters)
    : counters_(counters),
      select_(connection, "SELECT sessions,origins,marks,bytes,inbox,inbox_bytes FROM #inbound_senders WHERE source=?1",
              prefix),
      write_(connection,
             "INSERT OR REPLACE INTO #inbound_senders(source,sessions,origins,marks,bytes,inbox,inbox_bytes) "
             "VALUES(?1,?2,?3,?4,?5,?6,?7)",
             prefix),
      remove_(connection, "DELETE FROM #inbound_senders WHERE source=?1", prefix) {}

void SenderShares::add(std::string_view source, const SenderShare& difference) {
  requireNoScope();
  const auto place = entryOf(source);
  place->second.share += difference;
  if (!std::exchange(place->second.isChanged, true)) {
    changed_.push_back(place);
  }
  counters_.add(Counter::inboundBytes, difference.bytes);
  counters_.add(Counter::inbox, difference.inbox);
  counters_.add(Counter::inboxBytes, difference.inboxBytes);
}

void SenderShares::flush() {
  for (const auto& place : changed_) {
    const SenderShare& share = place->second.share;
    if (share == SenderShare{}) {
      Query(remove_, place->first).run();
    } else {
      Query(write_, place->first, share.sessions, share.origins, share.marks, share.bytes, share.inbox,
            share.inboxBytes)
          .run();
    }
    place->second.isChanged = false;
  }
  changed_.clear();
  if (entries_.size() > kSendersMax) {
    entries_.clear();
  }
}

void SenderShares::forget() noexcept {
  changed_.clear();
  entries_.clear();
}

SenderShares::Entries::iterator SenderShares::entryOf(std::string_view source) {
  if (const auto known = entries_.find(source); known != entries_.end()) {
    return known;
  }
  Entry entry;
  if (Query query(select_, source); query.next()) {
    entry.share = {query.integer(0), query.integer(1), query.integer(2),
                   query.integer(3), query.integer(4), query.integer(5)};
  }
  return entries_.emplace(source, entry).first;
}

}  // namespace ackbox::store::sqlite
