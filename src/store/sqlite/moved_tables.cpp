#include "store/sqlite/moved_tables.hpp"

#include <algorithm>

#include "store/sqlite/outbound/message_ids.hpp"

namespace ackbox::store::sqlite {
namespace {

MovedTable table(std::string name, std::string columns, std::string select) {
  const auto count = static_cast<int>(std::ranges::count(columns, ',')) + 1;
  return {std::move(name), std::move(columns), count, std::move(select)};
}

/// A table of which the columns are moved as they are.
MovedTable same(const std::string& name, const std::string& columns) {
  return table(name, columns, "SELECT " + columns + " FROM #" + name);
}

std::string bytes(const std::string& column) {
  return "'\\x'||hex(" + column + ")";
}

MovedTable sessionStates() {
  return table("session_states",
               "session_id,last_sequence,previous_sequence,confirmed_sequence,due_at_ms,due_is_firm,recall,"
               "paused_at_ms,blocked_by,blocked_at_ms",
               "SELECT s.id,coalesce(m.last_sequence,0),coalesce(m.previous_sequence,0),"
               "coalesce(m.confirmed_sequence,0),coalesce(m.due_at_ms,0),coalesce(m.due_is_firm,0),s.recall,"
               "s.paused_at_ms,s.blocked_by,s.blocked_at_ms FROM #sessions AS s LEFT JOIN #session_states AS m ON "
               "m.session_id=s.id");
}

MovedTable outbox() {
  const std::string begin =
      "id,session_id,sequence,state,attempt,retry_count,created_at_ms,due_at_ms,expires_at_ms,"
      "not_before_ms,";
  const std::string rest = "type,traceparent,correlation_id,resent_of,supersede_key,reason,last_error,";
  return table("outbox", begin + "message_id," + rest + "attempt_log,data",
               "SELECT " + begin + std::string(kMessageId) + "," + rest +
                   // A text with a zero byte is no value of PostgreSQL's JSON.
                   "iif(json_valid(attempt_log) AND instr(attempt_log,'\\u0000')=0,attempt_log,NULL)," + bytes("data") +
                   " FROM #outbox AS o");
}

MovedTable inbox() {
  const std::string begin =
      "id,origin,session,sequence,frame_id,source,epoch,previous_sequence,deferred,owner_id,starts,retry_count,"
      "due_at_ms,started_at_ms,accepted_at_ms,type,audience,time_ms,expires_at_ms,traceparent,correlation_id,resent_of,"
      "failed_at_ms,last_error,data_content_type";
  return table("inbox", begin + ",data", "SELECT " + begin + "," + bytes("data") + " FROM #inbox");
}

/// A row of each peer: its gauges, counted, and its totals. The counters of the only peer are the file's.
MovedTable peerCounts() {
  const auto total = [](const std::string& name) {
    return ",iif(EXISTS(SELECT 1 FROM #peer_counters),coalesce(k." + name + ",0),c." + name + ")";
  };
  return table(
      "counts", "peer_id,pending,sent,failed,retained,pending_bytes,enqueued,acked,failed_total,total_retries",
      "SELECT p.id,coalesce(g.pending,0),coalesce(g.sent,0),coalesce(g.failed,0),coalesce(g.retained,0),"
      "coalesce(g.bytes,0)" +
          total("enqueued") + total("acked") + total("failed_total") + total("total_retries") +
          " FROM #peers AS p CROSS JOIN #counters AS c LEFT JOIN #peer_counters AS k ON k.peer_id=p.id LEFT JOIN "
          "(SELECT s.peer_id AS peer_id,count(*) FILTER (WHERE o.state=0) AS pending,count(*) FILTER (WHERE o.state=2) "
          "AS sent,count(*) FILTER (WHERE o.state=4) AS failed,count(*) FILTER (WHERE o.state=3) AS retained,"
          "sum(length(o.data)) FILTER (WHERE o.state<3) AS bytes FROM #outbox AS o JOIN #sessions AS s ON "
          "s.id=o.session_id GROUP BY s.peer_id) AS g ON g.peer_id=p.id");
}

/// What is counted of no peer.
MovedTable otherCounts() {
  const std::string columns =
      "stale_settles,received,duplicates,gaps,superseded,inbox,inbox_bytes,deferred,refused_acks,ack_latency_ms,"
      "refused_unauthenticated,refused_forbidden,refused_limits,inbound_bytes,recounts,stale_epochs,id_conflicts,"
      "last_acked_at_ms";
  // The total less those of the peers.
  const auto rest = [](const std::string& name) {
    return ",iif(EXISTS(SELECT 1 FROM #peer_counters),c." + name + "-(SELECT sum(" + name +
           ") FROM #peer_counters),iif(EXISTS(SELECT 1 FROM #peers),0,c." + name + "))";
  };
  return table("counts", "peer_id," + columns + ",enqueued,acked,failed_total,total_retries",
               "SELECT 0," + columns + rest("enqueued") + rest("acked") + rest("failed_total") + rest("total_retries") +
                   " FROM #counters AS c");
}

}  // namespace

const std::vector<MovedTable>& movedTables() {
  static const std::vector<MovedTable> all = {
      same("peers",
           "id,name,url,agent,max_requests,down,failures,down_since_ms,next_probe_at_ms,last_error,hold,changed_at_ms,"
           "paused_at_ms,resumes,store,store_epoch,resent_store_epoch,resets,reset_at_ms,resent,unattended_since_ms,"
           "unattended_type,definition,removed_at_ms"),
      same("sessions", "id,peer_id,name,lane,priority"),
      sessionStates(),
      outbox(),
      // The digest of what a key was given for is another one here; it is made of the message, if that is there.
      table("idempotency_keys", "key,peer_id,message_id,sequence,keep_until_ms,digest",
            "SELECT key,peer_id,message_id,sequence,keep_until_ms,'\\x' FROM #idempotency_keys"),
      same("publications", "key,position,peer_id,message_id,sequence"),
      same("subscriptions", "name,peer_id,type,session,since_at_ms"),
      same("vacated_numbers", "session_id,sequence,message_id"),
      same("inbound_sessions",
           "id,source,origin,session,accepted_sequence,epoch,gaps,updated_at_ms,accepted_id,accepted_digest"),
      same("inbound_origins", "source,origin,epoch,state,began_at_ms,seen_at_ms"),
      same("processed_messages", "id,source,processed_at_ms,keep_until_ms,digest"),
      inbox(),
      same("inbox_results",
           "frame_id,source,origin,session,sequence,outcome,code,detail,result,keep_until_ms,type,starts,ended_at_ms"),
      table("sender_shares", "source,sessions,origins,marks,bytes,inbox,inbox_bytes",
            "SELECT source,sessions,origins,marks,bytes,inbox,inbox_bytes FROM #inbound_senders"),
      peerCounts(),
      otherCounts(),
  };
  return all;
}

}  // namespace ackbox::store::sqlite
