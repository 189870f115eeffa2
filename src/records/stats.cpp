#include "records/stats.hpp"

#include <array>

#include "records/text.hpp"

namespace ackbox::records {
namespace {

constexpr std::array kStats{
    field<&Stats::pending>("pending", "Messages that are still to be sent."),
    field<&Stats::sending>("sending", "Messages in a request under way."),
    field<&Stats::sent>("sent", "Messages that their peers have deferred."),
    field<&Stats::failed>("failed", "Dead letters."),
    field<&Stats::ackedRetained>("acked_retained", "Acknowledged messages that are kept."),
    field<&Stats::pendingBytes>("pending_bytes", "The bytes of what is not settled."),
    field<&Stats::oldestPendingAt>("oldest_pending_at_ms", "When the oldest message that is not settled was enqueued."),
    field<&Stats::enqueued>("enqueued_total", "Messages stored."),
    field<&Stats::acked>("acked_total", "Messages acknowledged."),
    field<&Stats::failedTotal>("failed_total", "Messages that became dead letters."),
    field<&Stats::totalRetries>("retries_total", "Attempts after the first."),
    field<&Stats::superseded>("superseded_total", "Messages that a later one with their key took the place of."),
    field<&Stats::staleSettles>("stale_settles_total", "Settlements that came too late."),
    field<&Stats::lastAckedAt>("last_acked_at_ms", "When a message was last acknowledged."),
    field<[](const Stats& stats) { return stats.enqueueToAck.count; }>("ack_latency_count",
                                                                       "Messages in the average of the next field."),
    field<[](const Stats& stats) { return stats.enqueueToAck.average.count(); }>(
        "ack_latency_average_ms", "From enqueue to acknowledgement, of the last messages of this process."),
    field<&Stats::received>("received_total", "Frames that took effect here."),
    field<&Stats::duplicates>("duplicates_total", "Frames that came again and were suppressed."),
    field<&Stats::gaps>("gaps_total", "Gaps that dead letters of senders left."),
    field<&Stats::inbox>("inbox", "Frames that were accepted and have not ended."),
    field<&Stats::deferred>("deferred_total", "Frames that were put there."),
    field<&Stats::refusedAcks>("refused_acks_total", "Acknowledgements by others than the message's peer."),
    field<&Stats::refusedUnauthenticated>("refused_unauthenticated_total", "Requests refused with 401."),
    field<&Stats::refusedForbidden>("refused_forbidden_total", "Requests and frames refused with 403."),
    field<&Stats::staleEpochs>("refused_stale_epoch_total", "Frames of senders whose outbox went back."),
    field<&Stats::idConflicts>("refused_id_conflict_total", "Frames whose id was used with other data."),
    field<&Stats::refusedLimits>("refused_limits_total", "Frames put off because their sender was at a limit."),
    field<&Stats::inboxBytes>("inbox_bytes", "The bytes of the frames in the inbox."),
    field<&Stats::inboundBytes>("inbound_bytes", "What is kept of senders against repetition."),
    field<&Stats::recounts>("recounts_total", "How often gauges were counted anew from the rows."),
    field<&Stats::fileBytes>("file_bytes", "The size of the file."),
    field<&Stats::freeBytes>("free_bytes", "Of that, what is free."),
    field<&Stats::walBytes>("wal_bytes", "The size of its write-ahead log."),
    field<&Stats::logNotBatched>("log_not_batched", "Why the log is not batched; empty: it is."),
};

}  // namespace

template <>
std::span<const Field<Stats>> fields() {
  return kStats;
}

json::Line lineOf(const Stats& stats, const std::vector<std::int64_t>& processes) {
  return lineOf(stats).raw("process_ids", "[" + listed(processes, ",") + "]");
}

}  // namespace ackbox::records
