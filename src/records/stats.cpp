#include "records/stats.hpp"

#include <array>
#include <string>

namespace ackbox::records {
namespace {

template <auto Get>
constexpr Field<Stats> of(std::string_view name, std::string_view meaning) {
  return field<Stats, Get>(name, meaning);
}

constexpr std::array kStats{
    of<&Stats::pending>("pending", "Messages that are still to be sent."),
    of<&Stats::sending>("sending", "Messages in a request under way."),
    of<&Stats::sent>("sent", "Messages that their peers have deferred."),
    of<&Stats::failed>("failed", "Dead letters."),
    of<&Stats::ackedRetained>("acked_retained", "Acknowledged messages that are kept."),
    of<&Stats::pendingBytes>("pending_bytes", "The bytes of what is not settled."),
    of<&Stats::oldestPendingAt>("oldest_pending_at_ms", "When the oldest message that is not settled was enqueued."),
    of<&Stats::enqueued>("enqueued_total", "Messages stored."),
    of<&Stats::acked>("acked_total", "Messages acknowledged."),
    of<&Stats::failedTotal>("failed_total", "Messages that became dead letters."),
    of<&Stats::totalRetries>("retries_total", "Attempts after the first."),
    of<&Stats::superseded>("superseded_total", "Messages that a later one with their key took the place of."),
    of<&Stats::staleSettles>("stale_settles_total", "Settlements that came too late."),
    of<&Stats::lastAckedAt>("last_acked_at_ms", "When a message was last acknowledged."),
    of<[](const Stats& stats) { return stats.enqueueToAck.count; }>("ack_latency_count",
                                                                    "Messages in the average of the next field."),
    of<[](const Stats& stats) { return stats.enqueueToAck.average.count(); }>(
        "ack_latency_average_ms", "From enqueue to acknowledgement, of the last messages of this process."),
    of<&Stats::received>("received_total", "Frames that took effect here."),
    of<&Stats::duplicates>("duplicates_total", "Frames that came again and were suppressed."),
    of<&Stats::gaps>("gaps_total", "Gaps that dead letters of senders left."),
    of<&Stats::inbox>("inbox", "Frames that were accepted and have not ended."),
    of<&Stats::deferred>("deferred_total", "Frames that were put there."),
    of<&Stats::refusedAcks>("refused_acks_total", "Acknowledgements by others than the message's peer."),
    of<&Stats::refusedUnauthenticated>("refused_unauthenticated_total", "Requests refused with 401."),
    of<&Stats::refusedForbidden>("refused_forbidden_total", "Requests and frames refused with 403."),
    of<&Stats::staleEpochs>("refused_stale_epoch_total", "Frames of senders whose file went back."),
    of<&Stats::idConflicts>("refused_id_conflict_total", "Frames whose id was used with other data."),
    of<&Stats::refusedLimits>("refused_limits_total", "Frames put off because their sender was at a limit."),
    of<&Stats::inboxBytes>("inbox_bytes", "The bytes of the frames in the inbox."),
    of<&Stats::inboundBytes>("inbound_bytes", "What is kept of senders against repetition."),
    of<&Stats::recounts>("recounts_total", "How often gauges were counted anew from the rows."),
    of<&Stats::fileBytes>("file_bytes", "The size of the file."),
    of<&Stats::freeBytes>("free_bytes", "Of that, what is free."),
    of<&Stats::walBytes>("wal_bytes", "The size of its write-ahead log."),
    of<&Stats::logNotBatched>("log_not_batched", "Why the log is not batched; empty: it is."),
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
