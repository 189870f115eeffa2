#include "store/sqlite/schema/views.hpp"

#include <initializer_list>

#include "sqlite/statement.hpp"
#include "store/sqlite/cache/claim_bits.hpp"
#include "store/sqlite/cache/lazy_session_rows.hpp"
#include "store/sqlite/outbound/message_ids.hpp"
#include "store/sqlite/sqlite_names.hpp"

namespace ackbox::store::sqlite {
namespace {

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) {
    text += part;
  }
  return text;
}

// ISO 8601 in UTC; NULL for NULL. The format covers the years 0 to 9999: an earlier or later instant is shown as the
// first or the last instant of that range, as `formatTimestamp` does.
std::string instant(std::string_view milliseconds) {
  return joined({"strftime('%Y-%m-%dT%H:%M:%fZ',max(-62167219200000,min(253402300799999,", milliseconds,
                 "))/1000.0,'unixepoch')"});
}

// For a column where 0 means none: NULL for 0 as well.
std::string instantOrNone(std::string_view milliseconds) {
  return instant(joined({"nullif(", milliseconds, ",0)"}));
}

std::string processOf(std::string_view owner) {
  return joined({"(SELECT pid FROM #owners WHERE id=", owner, ")"});
}

// The columns of `o`, with its session `s` and its peer `p`.
std::string messageColumns() {
  return joined(
      {kMessageId, " AS message_id,o.id AS row_id,p.name AS peer,nullif(s.name,'') AS session,nullif(o.sequence,0) AS ",
       "sequence,o.type AS type,s.priority AS priority,", instant("o.created_at_ms"), " AS enqueued_at,",
       instant("o.not_before_ms"), " AS not_before,", instant("o.expires_at_ms"),
       " AS expires_at,o.retry_count AS retry_count,o.attempt AS attempts,o.reason AS reason,o.last_error AS ",
       "last_error,o.attempt_log AS attempt_log,o.correlation_id AS correlation_id,o.resent_of AS ",
       "resent_of,o.traceparent AS traceparent,CAST(o.data AS TEXT) AS ", "data"});
}

std::string messages() {
  return joined(
      {"CREATE VIEW #messages AS SELECT ", messageColumns(), ",CASE ", kRowState,
       " WHEN 0 THEN 'PENDING' WHEN 1 THEN 'SENDING' WHEN 2 THEN 'SENT' WHEN 3 THEN 'ACKED' WHEN 4 THEN 'FAILED' END ",
       "AS state,",
       instantOrNone(
           "max(o.due_at_ms,(o.state=0)*(SELECT m.due_at_ms FROM #session_states AS m WHERE m.session_id=s.id))"),
       " AS due_at,", processOf(kRowOwner),
       " AS process_id,o.supersede_key AS supersede_key FROM #outbox AS o CROSS JOIN #sessions AS s ON ",
       "s.id=o.session_id CROSS JOIN #peers AS p ON p.id=s.peer_id"});
}

// Uses the index of dead letters, and does not look at the backlog.
std::string deadLetters() {
  return joined({"CREATE VIEW #dead_letters AS SELECT ", messageColumns(), ",", instantOrNone("o.due_at_ms"),
                 " AS failed_at,CASE o.reason ", "WHEN 'retry-budget' THEN 'all retries of its policy failed' ",
                 "WHEN 'horizon' THEN 'it was older than the horizon of its policy' ",
                 "WHEN 'expired' THEN 'its own expiry passed' ",
                 "WHEN 'retry-policy' THEN 'the application''s retry function gave it up' ",
                 "WHEN 'dead-letter-by-policy' THEN 'the application gave it up' ",
                 "WHEN 'marked-failed' THEN 'an operator gave it up' ",
                 "WHEN 'peer-removed' THEN 'an operator removed its peer' ",
                 "WHEN 'rejected' THEN 'the peer refused it for good' ",
                 "WHEN 'damaged' THEN 'the file does not hold it as it was enqueued, so it was not sent' ",
                 "WHEN 'rejected-request' THEN 'the peer could not read a request with this message alone' ",
                 "WHEN 'peer-killer' THEN 'the peer lost the connection each time that it was sent alone' ",
                 "ELSE 'the peer or the application gave this reason' END AS meaning,s.blocked_by=o.id AS ",
                 "blocks_session FROM #outbox AS o INDEXED BY #outbox_failed CROSS JOIN #sessions AS s ON ",
                 "s.id=o.session_id CROSS JOIN #peers AS p ON p.id=s.peer_id WHERE o.state=4"});
}

std::string sessions() {
  return joined({"CREATE VIEW #sessions_view AS SELECT p.name AS peer,s.name AS session,s.priority AS priority,max(0,",
                 kSessionLive, ") AS live,m.failed AS failed,", kSessionLastSequence,
                 " AS last_sequence,m.previous_sequence AS accepted_sequence,", instantOrNone("m.due_at_ms"),
                 " AS due_at,", processOf(kSessionOwner), " AS process_id,", instantOrNone("s.paused_at_ms"),
                 " AS paused_at,", instantOrNone("s.blocked_at_ms"), " AS blocked_at,(SELECT ", kMessageId,
                 " FROM #outbox AS o WHERE o.id=s.blocked_by) AS blocked_by FROM #sessions AS s CROSS JOIN ",
                 "#session_states AS m ON m.session_id=s.id CROSS JOIN #peers AS p ON p.id=s.peer_id LEFT JOIN ",
                 kUnwrittenTails, " AS t ON t.session_id=s.id WHERE s.lane=0"});
}

// The order of the states is that of `delivery::stateOf`.
std::string peers() {
  return joined({"CREATE VIEW #peers_view AS SELECT name AS peer,url,nullif(agent,'') AS agent,CASE WHEN ",
                 "removed_at_ms<>0 THEN 'removed' WHEN paused_at_ms<>0 THEN 'paused' WHEN down=0 THEN 'up' ",
                 "WHEN hold=1 THEN 'held' WHEN hold=2 THEN 'disabled' ELSE 'down' END AS state,",
                 instantOrNone("iif(paused_at_ms<>0,paused_at_ms,changed_at_ms)"), " AS since,failures,",
                 instantOrNone("iif(down=0,0,next_probe_at_ms)"),
                 " AS next_probe_at,nullif(last_error,'') AS last_error,nullif(store,'') AS store,resets,",
                 instantOrNone("reset_at_ms"), " AS last_reset_at,resent,", instantOrNone("removed_at_ms"),
                 " AS removed_at FROM #peers"});
}

std::string processedMessages() {
  return joined({"CREATE VIEW #processed_messages_view AS SELECT substr(id,instr(id,char(10))+1) AS message_id,source,",
                 instant("processed_at_ms"), " AS processed_at,", instant("keep_until_ms"),
                 " AS keep_until FROM #processed_messages"});
}

// The mailbox of `i`, a row of the inbox; empty: it is for this agent. See `KeptSession`.
constexpr const char* kMailbox = "substr(i.session,1,instr(i.session,char(31))-1)";

// The `InboxState` of `i`, a row of the inbox. Of the applications that fit its mailbox and type, the first counts.
std::string inboxState() {
  return joined(
      {"CASE WHEN owner_id=0 AND due_at_ms>1000*CAST(strftime('%s','now') AS INTEGER) THEN 'BACKOFF' WHEN owner_id=0 ",
       "AND sequence>0 AND EXISTS(SELECT 1 FROM #inbox AS b WHERE b.source=i.source AND b.origin=i.origin AND ",
       "b.session=i.session AND b.sequence>0 AND b.sequence<i.sequence) THEN 'BEHIND' WHEN (SELECT away FROM ",
       "applications WHERE (mailbox=", kMailbox, " OR (mailbox='*' AND ", kMailbox, "<>'')) AND (i.type=pattern OR ",
       "(substr(pattern,-1)='*' AND substr(i.type,1,length(pattern)-1)=substr(pattern,1,length(pattern)-1))) ",
       "ORDER BY mailbox='*',owner,place LIMIT 1)<>0 THEN 'UNATTENDED' WHEN owner_id<>0 THEN 'RUNNING' ELSE ",
       "'WAITING' END"});
}

std::string inboxMessages() {
  return joined(
      {"CREATE VIEW #inbox_messages AS WITH RECURSIVE lines(owner,place,line,rest) AS (SELECT id,0,'',",
       "applications FROM #owners WHERE applications<>'' UNION ALL SELECT owner,place+1,substr(rest,1,",
       "instr(rest,char(10))-1),substr(rest,instr(rest,char(10))+1) FROM lines WHERE instr(rest,char(10))>0),",
       "parts(owner,place,mailbox,line) AS (SELECT owner,place,substr(line,1,instr(line,char(9))-1),",
       "substr(line,instr(line,char(9))+1) FROM lines WHERE place>0),applications(owner,place,mailbox,pattern,away) ",
       "AS (SELECT owner,place,mailbox,substr(line,1,instr(line,char(9))-1),",
       "CAST(substr(line,instr(line,char(9))+1) AS INTEGER) FROM parts) SELECT frame_id AS message_id,id AS row_id,",
       "source,nullif(origin,'') AS origin,nullif(",
       kMailbox,
       ",'') AS mailbox,",
       "nullif(substr(session,instr(session,char(31))+1),'') AS session,",
       "nullif(sequence,0) AS sequence,type,",
       inboxState(),
       " AS state,deferred AS was_deferred,",
       processOf("owner_id"),
       " AS process_id,retry_count,",
       instantOrNone("due_at_ms"),
       " AS due_at,",
       instant("accepted_at_ms"),
       " AS accepted_at,",
       instant("time_ms"),
       " AS enqueued_at,",
       instant("expires_at_ms"),
       " AS expires_at,audience,correlation_id,resent_of,traceparent,last_error,CAST(data AS TEXT) AS ",
       "data,data_content_type FROM #inbox AS i"});
}

}  // namespace

std::vector<View> views(std::string_view prefix) {
  std::vector<View> all = {
      {"#messages", messages()},
      {"#dead_letters", deadLetters()},
      {"#sessions_view", sessions()},
      {"#peers_view", peers()},
      {"#processed_messages_view", processedMessages()},
      {"#inbox_messages", inboxMessages()},
  };
  for (View& view : all) {
    view.name = expand(view.name, prefix);
    view.sql = expand(view.sql, prefix);
  }
  return all;
}

}  // namespace ackbox::store::sqlite
