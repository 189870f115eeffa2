#include "cli/stats_view.hpp"

#include <string>

#include "cli/text.hpp"

namespace ackbox::cli {
namespace {

std::string joined(const std::vector<std::int64_t>& numbers, const char* separator) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : separator) + std::to_string(number);
  }
  return text;
}

std::string ackedText(const Stats& stats, WallTime now) {
  const LatencyStats& latency = stats.enqueueToAck;
  std::string text;
  if (latency.count != 0) {
    text = "in " + durationText(latency.average) + " on average";
  }
  if (stats.lastAckedAt) {
    text += (text.empty() ? "last " : ", last ") + agoText(now, *stats.lastAckedAt);
  }
  return text;
}

}  // namespace

json::Line statsLine(const Stats& stats, const std::vector<std::int64_t>& processes) {
  json::Line line;
  line.add("pending", stats.pending)
      .add("sending", stats.sending)
      .add("sent", stats.sent)
      .add("failed", stats.failed)
      .add("acked_retained", stats.ackedRetained)
      .add("pending_bytes", stats.pendingBytes)
      .add("oldest_pending_at_ms", stats.oldestPendingAt)
      .add("enqueued_total", stats.enqueued)
      .add("acked_total", stats.acked)
      .add("failed_total", stats.failedTotal)
      .add("retries_total", stats.totalRetries)
      .add("superseded_total", stats.superseded)
      .add("stale_settles_total", stats.staleSettles)
      .add("last_acked_at_ms", stats.lastAckedAt)
      .add("ack_latency_count", stats.enqueueToAck.count)
      .add("ack_latency_average_ms", stats.enqueueToAck.average.count())
      .add("received_total", stats.received)
      .add("duplicates_total", stats.duplicates)
      .add("gaps_total", stats.gaps)
      .add("inbox", stats.inbox)
      .add("deferred_total", stats.deferred)
      .add("refused_acks_total", stats.refusedAcks)
      .add("refused_unauthenticated_total", stats.refusedUnauthenticated)
      .add("refused_forbidden_total", stats.refusedForbidden)
      .add("refused_stale_epoch_total", stats.staleEpochs)
      .add("refused_id_conflict_total", stats.idConflicts)
      .add("refused_limits_total", stats.refusedLimits)
      .add("inbox_bytes", stats.inboxBytes)
      .add("inbound_bytes", stats.inboundBytes)
      .add("recounts_total", stats.recounts)
      .add("file_bytes", stats.fileBytes)
      .add("free_bytes", stats.freeBytes)
      .add("wal_bytes", stats.walBytes)
      .add("log_not_batched", stats.logNotBatched)
      .raw("process_ids", "[" + joined(processes, ",") + "]");
  return line;
}

Table statsTable(const Stats& stats, const std::vector<std::int64_t>& processes, WallTime now) {
  Table table({{"", Align::left}, {"", Align::right}, {"", Align::left}});
  const auto row = [&](const char* name, std::uint64_t count, std::string remark = {}) {
    table.add({name, std::to_string(count), std::move(remark)});
  };
  row("pending", stats.pending,
      bytesText(stats.pendingBytes) +
          (stats.oldestPendingAt ? ", oldest from " + agoText(now, *stats.oldestPendingAt) : std::string()));
  row("sending", stats.sending);
  row("sent", stats.sent, "waiting for their ACK");
  row("failed", stats.failed, stats.failed == 0 ? "dead letters" : "dead letters: ackbox list FILE --state failed");
  row("retained", stats.ackedRetained, "acknowledged and kept");
  row("enqueued", stats.enqueued, "since the file was made");
  row("acked", stats.acked, ackedText(stats, now));
  row("given up", stats.failedTotal);
  row("retries", stats.totalRetries);
  row("superseded", stats.superseded, "taken away by a later message");
  row("stale", stats.staleSettles, "settles that came too late");
  row("received", stats.received,
      countText(stats.duplicates, "duplicate") + ", " + countText(stats.gaps, "gap") + ", " +
          std::to_string(stats.deferred) + " deferred");
  row("inbox", stats.inbox, "waiting for their handlers");
  row("refused",
      stats.refusedUnauthenticated + stats.refusedForbidden + stats.refusedAcks + stats.staleEpochs +
          stats.idConflicts + stats.refusedLimits,
      std::to_string(stats.refusedUnauthenticated) + " unauthenticated, " + std::to_string(stats.refusedForbidden) +
          " forbidden, " + countText(stats.refusedAcks, "foreign ACK") + ", " + std::to_string(stats.staleEpochs) +
          " of restored senders, " + countText(stats.idConflicts, "id conflict") + ", " +
          std::to_string(stats.refusedLimits) + " beyond limits");
  table.add({"senders", bytesText(stats.inboundBytes), "kept against repetition: ackbox senders FILE"});
  if (stats.recounts != 0) {
    row("recounts", stats.recounts, "repairs of the gauges so far, after changes of rows by hand");
  }
  table.add({"file", bytesText(stats.fileBytes),
             bytesText(stats.freeBytes) + " free, " + bytesText(stats.walBytes) + " in the log"});
  if (!stats.logNotBatched.empty()) {
    table.add({"batched log", "off", stats.logNotBatched});
  }
  table.add({"processes", std::to_string(processes.size()),
             processes.empty() ? "no process has the file open" : joined(processes, ", ")});
  return table;
}

json::Line sessionLine(const SessionStats& session) {
  json::Line line;
  line.add("peer", session.peer)
      .add("session", session.session)
      .add("live", session.live)
      .add("failed", session.failed)
      .add("last_sequence", session.lastSequence)
      .add("accepted_sequence", session.acceptedSequence)
      .add("in_flight", session.inFlight)
      .add("due_at_ms", session.dueAt)
      .add("paused_at_ms", session.pausedAt)
      .add("blocked_at_ms", session.blockedAt);
  return line;
}

Table sessionTable(const std::vector<SessionStats>& sessions, WallTime now) {
  Table table({{"PEER", Align::left},
               {"SESSION", Align::left},
               {"LIVE", Align::right},
               {"FAILED", Align::right},
               {"LAST", Align::right},
               {"ACCEPTED", Align::right},
               {"NEXT", Align::left}});
  for (const SessionStats& session : sessions) {
    table.add({session.peer, session.session, std::to_string(session.live), std::to_string(session.failed),
               std::to_string(session.lastSequence), std::to_string(session.acceptedSequence),
               session.pausedAt    ? "paused"
               : session.blockedAt ? "blocked"
               : session.inFlight  ? "in flight"
               : session.dueAt     ? agoText(now, *session.dueAt)
                                   : "-"});
  }
  return table;
}

}  // namespace ackbox::cli
