#include "records/stats.hpp"

#include <array>
#include <string>

namespace ackbox::records {
namespace {

template <auto Get>
constexpr Field<Stats> ofStats(std::string_view name, std::string_view meaning) {
  return field<Stats, Get>(name, meaning);
}

constexpr std::array kStats{
    ofStats<&Stats::pending>("pending", "Messages that are still to be sent."),
    ofStats<&Stats::sending>("sending", "Messages in a request under way."),
    ofStats<&Stats::sent>("sent", "Messages that their peers have deferred."),
    ofStats<&Stats::failed>("failed", "Dead letters."),
    ofStats<&Stats::ackedRetained>("acked_retained", "Acknowledged messages that are kept."),
    ofStats<&Stats::pendingBytes>("pending_bytes", "The bytes of what is not settled."),
    ofStats<&Stats::oldestPendingAt>("oldest_pending_at_ms",
                                     "When the oldest message that is not settled was enqueued."),
    ofStats<&Stats::enqueued>("enqueued_total", "Messages stored."),
    ofStats<&Stats::acked>("acked_total", "Messages acknowledged."),
    ofStats<&Stats::failedTotal>("failed_total", "Messages that became dead letters."),
    ofStats<&Stats::totalRetries>("retries_total", "Attempts after the first."),
    ofStats<&Stats::superseded>("superseded_total", "Messages that a later one with their key took the place of."),
    ofStats<&Stats::staleSettles>("stale_settles_total", "Settlements that came too late."),
    ofStats<&Stats::lastAckedAt>("last_acked_at_ms", "When a message was last acknowledged."),
    ofStats<[](const Stats& stats) { return stats.enqueueToAck.count; }>("ack_latency_count",
                                                                         "Messages in the average of the next field."),
    ofStats<[](const Stats& stats) { return stats.enqueueToAck.average.count(); }>(
        "ack_latency_average_ms", "From enqueue to acknowledgement, of the last messages of this process."),
    ofStats<&Stats::received>("received_total", "Frames that took effect here."),
    ofStats<&Stats::duplicates>("duplicates_total", "Frames that came again and were suppressed."),
    ofStats<&Stats::gaps>("gaps_total", "Gaps that dead letters of senders left."),
    ofStats<&Stats::inbox>("inbox", "Frames that were accepted and have not ended."),
    ofStats<&Stats::deferred>("deferred_total", "Frames that were put there."),
    ofStats<&Stats::refusedAcks>("refused_acks_total", "Acknowledgements by others than the message's peer."),
    ofStats<&Stats::refusedUnauthenticated>("refused_unauthenticated_total", "Requests refused with 401."),
    ofStats<&Stats::refusedForbidden>("refused_forbidden_total", "Requests and frames refused with 403."),
    ofStats<&Stats::staleEpochs>("refused_stale_epoch_total", "Frames of senders whose file went back."),
    ofStats<&Stats::idConflicts>("refused_id_conflict_total", "Frames whose id was used with other data."),
    ofStats<&Stats::refusedLimits>("refused_limits_total", "Frames put off because their sender was at a limit."),
    ofStats<&Stats::inboxBytes>("inbox_bytes", "The bytes of the frames in the inbox."),
    ofStats<&Stats::inboundBytes>("inbound_bytes", "What is kept of senders against repetition."),
    ofStats<&Stats::recounts>("recounts_total", "How often gauges were counted anew from the rows."),
    ofStats<&Stats::fileBytes>("file_bytes", "The size of the file."),
    ofStats<&Stats::freeBytes>("free_bytes", "Of that, what is free."),
    ofStats<&Stats::walBytes>("wal_bytes", "The size of its write-ahead log."),
    ofStats<&Stats::logNotBatched>("log_not_batched", "Why the log is not batched; empty: it is."),
};

}  // namespace

std::span<const Field<Stats>> statsFields() {
  return kStats;
}

json::Line lineOf(const Stats& stats, const std::vector<std::int64_t>& processes) {
  std::string ids;
  for (const std::int64_t process : processes) {
    ids += (ids.empty() ? "" : ",") + std::to_string(process);
  }
  return lineOf(statsFields(), stats).raw("process_ids", "[" + ids + "]");
}

}  // namespace ackbox::records
