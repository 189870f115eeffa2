#include "cli/stats_view.hpp"

#include <string>

#include "cli/text.hpp"

namespace ackbox::cli {
namespace {

using Align = Table::Align;

std::string list(const std::vector<std::int64_t>& numbers, const char* separator) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += (text.empty() ? "" : separator) + std::to_string(number);
  }
  return text;
}

std::string upText(const PeerStats& peer, WallTime now) {
  return peer.down ? "down" + (peer.downSince ? " " + durationText(now - *peer.downSince) : std::string()) : "up";
}

}  // namespace

JsonLine statsLine(const Stats& stats, const std::vector<std::int64_t>& processes) {
  JsonLine line;
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
      .add("ack_latency_p50_ms", stats.enqueueToAck.p50.count())
      .add("ack_latency_p95_ms", stats.enqueueToAck.p95.count())
      .add("ack_latency_p99_ms", stats.enqueueToAck.p99.count())
      .add("received_total", stats.received)
      .add("duplicates_total", stats.duplicates)
      .add("gaps_total", stats.gaps)
      .add("inbox", stats.inbox)
      .add("deferred_total", stats.deferred)
      .add("refused_acks_total", stats.refusedAcks)
      .add("file_bytes", stats.fileBytes)
      .add("free_bytes", stats.freeBytes)
      .add("wal_bytes", stats.walBytes)
      .raw("process_ids", "[" + list(processes, ",") + "]");
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
  const LatencyStats& latency = stats.enqueueToAck;
  row("acked", stats.acked,
      latency.count == 0 ? std::string()
                         : "in " + durationText(latency.average) + " on average, p50 " + durationText(latency.p50) +
                               ", p95 " + durationText(latency.p95) + ", p99 " + durationText(latency.p99));
  row("given up", stats.failedTotal);
  row("retries", stats.totalRetries);
  row("stale", stats.staleSettles, "settles that came too late");
  row("received", stats.received,
      countText(stats.duplicates, "duplicate") + ", " + countText(stats.gaps, "gap") + ", " +
          std::to_string(stats.inbox) + " in the inbox");
  table.add({"file", bytesText(stats.fileBytes),
             bytesText(stats.freeBytes) + " free, " + bytesText(stats.walBytes) + " in the log"});
  table.add({"processes", std::to_string(processes.size()),
             processes.empty() ? "nobody has the file open" : list(processes, ", ")});
  return table;
}

JsonLine peerLine(const PeerStats& peer) {
  JsonLine line;
  line.add("peer", peer.peer)
      .add("pending", peer.pending)
      .add("sending", peer.sending)
      .add("sent", peer.sent)
      .add("failed", peer.failed)
      .add("pending_bytes", peer.pendingBytes)
      .add("enqueued_total", peer.enqueued)
      .add("acked_total", peer.acked)
      .add("failed_total", peer.failedTotal)
      .add("retries_total", peer.totalRetries)
      .add("down", peer.down)
      .add("failures", peer.failures)
      .add("down_since_at_ms", peer.downSince)
      .add("next_probe_at_ms", peer.nextProbeAt)
      .add("last_error", peer.lastError);
  return line;
}

Table peerTable(const std::vector<PeerStats>& peers, WallTime now) {
  Table table({{"PEER", Align::left},
               {"STATE", Align::left},
               {"PENDING", Align::right},
               {"SENDING", Align::right},
               {"SENT", Align::right},
               {"FAILED", Align::right},
               {"SIZE", Align::right},
               {"ACKED", Align::right},
               {"RETRIES", Align::right},
               {"PROBE", Align::left},
               {"LAST ERROR", Align::left}});
  for (const PeerStats& peer : peers) {
    table.add({peer.peer, upText(peer, now), std::to_string(peer.pending), std::to_string(peer.sending),
               std::to_string(peer.sent), std::to_string(peer.failed), bytesText(peer.pendingBytes),
               std::to_string(peer.acked), std::to_string(peer.totalRetries),
               peer.nextProbeAt ? agoText(now, *peer.nextProbeAt) : "-", shortened(peer.lastError, 60)});
  }
  return table;
}

JsonLine sessionLine(const SessionStats& session) {
  JsonLine line;
  line.add("peer", session.peer)
      .add("session", session.session)
      .add("live", session.live)
      .add("failed", session.failed)
      .add("last_sequence", session.lastSequence)
      .add("accepted_sequence", session.acceptedSequence)
      .add("in_flight", session.inFlight)
      .add("due_at_ms", session.dueAt);
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
               session.inFlight ? "in flight"
               : session.dueAt  ? agoText(now, *session.dueAt)
                                : "-"});
  }
  return table;
}

}  // namespace ackbox::cli
