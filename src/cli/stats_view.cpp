#include "cli/stats_view.hpp"

#include <string>

#include "records/text.hpp"

namespace ackbox::cli {
namespace {

std::string ackedText(const Stats& stats, WallTime now) {
  const LatencyStats& latency = stats.enqueueToAck;
  std::string text;
  if (latency.count != 0) {
    text = "in " + records::durationText(latency.average) + " on average";
  }
  if (stats.lastAckedAt) {
    text += (text.empty() ? "last " : ", last ") + records::agoText(now, *stats.lastAckedAt);
  }
  return text;
}

}  // namespace

Table statsTable(const Stats& stats, const std::vector<std::int64_t>& processes, WallTime now) {
  Table table({{"", Align::left}, {"", Align::right}, {"", Align::left}});
  const auto row = [&](const char* name, std::uint64_t count, std::string remark = {}) {
    table.add({name, std::to_string(count), std::move(remark)});
  };
  row("pending", stats.pending,
      records::bytesText(stats.pendingBytes) +
          (stats.oldestPendingAt ? ", oldest from " + records::agoText(now, *stats.oldestPendingAt) : std::string()));
  row("sending", stats.sending);
  row("sent", stats.sent, "waiting for their ACK");
  row("failed", stats.failed, stats.failed == 0 ? "dead letters" : "dead letters: ackbox list FILE --state failed");
  row("retained", stats.ackedRetained, "acknowledged and kept");
  row("enqueued", stats.enqueued, "since the outbox was made");
  row("acked", stats.acked, ackedText(stats, now));
  row("dead letters", stats.failedTotal, "since the outbox was made");
  row("retries", stats.totalRetries);
  row("superseded", stats.superseded, "taken away by a later message");
  row("stale", stats.staleSettles, "settles that came too late");
  row("received", stats.received,
      records::countText(stats.duplicates, "duplicate") + ", " + records::countText(stats.gaps, "gap") + ", " +
          std::to_string(stats.deferred) + " deferred");
  row("inbox", stats.inbox, "deferred frames that wait or run");
  row("refused",
      stats.refusedUnauthenticated + stats.refusedForbidden + stats.refusedAcks + stats.staleEpochs +
          stats.idConflicts + stats.refusedLimits,
      std::to_string(stats.refusedUnauthenticated) + " unauthenticated, " + std::to_string(stats.refusedForbidden) +
          " forbidden, " + records::countText(stats.refusedAcks, "foreign ACK") + ", " +
          std::to_string(stats.staleEpochs) + " of restored senders, " +
          records::countText(stats.idConflicts, "id conflict") + ", " + std::to_string(stats.refusedLimits) +
          " beyond limits");
  table.add({"senders", records::bytesText(stats.inboundBytes), "kept against repetition: ackbox senders FILE"});
  if (stats.recounts != 0) {
    row("recounts", stats.recounts, "repairs of the gauges so far, after changes of rows by hand");
  }
  table.add({"file", records::bytesText(stats.fileBytes),
             records::bytesText(stats.freeBytes) + " free, " + records::bytesText(stats.walBytes) + " in the log"});
  if (!stats.logNotBatched.empty()) {
    table.add({"batched log", "off", stats.logNotBatched});
  }
  table.add({"processes", std::to_string(processes.size()),
             processes.empty() ? "no process has the outbox open" : records::listed(processes)});
  return table;
}

}  // namespace ackbox::cli
