#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ackbox/metrics.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/version.hpp"
#include "manager/facade/core.hpp"
#include "manager/facade/core_of.hpp"
#include "protocol/exposition.hpp"

namespace ackbox {
namespace {

using protocol::Exposition;
using Type = Exposition::Type;

double inSeconds(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

/// A double, because both formats use NaN for an unknown value.
double availableBytes(const std::filesystem::path& file) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(file.parent_path(), error);
  return error ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(space.available);
}

void addPeers(Exposition& out, const std::vector<PeerStats>& peers, const std::vector<PeerStatus>& circuits) {
  const auto perPeer = [&](std::string_view name, Type type, std::string_view help, std::uint64_t PeerStats::*figure) {
    out.family(name, type, help);
    for (const PeerStats& peer : peers) {
      out.sample(peer.*figure, {{"peer", peer.peer}});
    }
  };
  out.family("ackbox_messages", Type::gauge, "Messages in the outbox by state; failed are dead letters.");
  for (const PeerStats& peer : peers) {
    out.sample(peer.pending, {{"peer", peer.peer}, {"state", "pending"}});
    out.sample(peer.sending, {{"peer", peer.peer}, {"state", "sending"}});
    out.sample(peer.sent, {{"peer", peer.peer}, {"state", "sent"}});
    out.sample(peer.failed, {{"peer", peer.peer}, {"state", "failed"}});
  }
  perPeer("ackbox_pending_bytes", Type::gauge, "Bytes of data of messages that are not settled.",
          &PeerStats::pendingBytes);
  perPeer("ackbox_enqueued_messages_total", Type::counter, "Messages stored by enqueues.", &PeerStats::enqueued);
  perPeer("ackbox_acked_messages_total", Type::counter, "Messages acknowledged by their peer.", &PeerStats::acked);
  perPeer("ackbox_dead_letters_total", Type::counter,
          "Messages that became dead letters; a redriven one may count again.", &PeerStats::failedTotal);
  perPeer("ackbox_retries_total", Type::counter, "Charged attempts that were scheduled again.",
          &PeerStats::totalRetries);
  out.family("ackbox_peer_up", Type::gauge, "1: messages go to the peer. 0: it is down, held, disabled or paused.");
  for (const PeerStatus& peer : circuits) {
    out.sample(std::uint64_t{peer.state == PeerState::up ? 1U : 0U}, {{"peer", peer.name}});
  }
  constexpr std::array kStates = {PeerState::up, PeerState::down, PeerState::held, PeerState::disabled,
                                  PeerState::paused};
  out.family("ackbox_peer_state", Type::gauge, "1: the peer is in this state. 0: it is in another.");
  for (const PeerStatus& peer : circuits) {
    for (const PeerState state : kStates) {
      out.sample(std::uint64_t{peer.state == state ? 1U : 0U}, {{"peer", peer.name}, {"state", toString(state)}});
    }
  }
  out.family("ackbox_peer_rate_limited_seconds_total", Type::counter,
             "How long the peer's rate limit has made messages wait in this process.");
  for (const PeerStatus& peer : circuits) {
    out.sample(inSeconds(peer.rateLimited), {{"peer", peer.name}});
  }
  perPeer("ackbox_peer_resets_total", Type::counter, "How often the peer was found to have lost its database.",
          &PeerStats::resets);
  perPeer("ackbox_resent_messages_total", Type::counter, "Acknowledged messages that were sent again for that.",
          &PeerStats::resent);
}

void addDelivery(Exposition& out, const Stats& stats, const OutboxOptions& options) {
  out.single("ackbox_oldest_message_age_seconds", Type::gauge, "Age of the oldest message that is not settled.",
             stats.oldestPendingAge ? inSeconds(*stats.oldestPendingAge) : 0.0);
  out.single("ackbox_superseded_messages_total", Type::counter,
             "Messages replaced by a later one before they were sent.", stats.superseded);
  out.single("ackbox_stale_settles_total", Type::counter, "Ends of attempts that came too late to count.",
             stats.staleSettles);
  out.single("ackbox_max_pending_messages", Type::gauge, "Maximum number of unsettled messages; see maxPending.",
             options.maxPending);
  out.single("ackbox_max_pending_bytes", Type::gauge, "Maximum bytes of their data; see maxPendingBytes.",
             options.maxPendingBytes);
  const LatencyStats& latency = stats.enqueueToAck;
  out.family("ackbox_ack_latency_seconds", Type::summary,
             "From the enqueue to the ACK; quantiles of the last five minutes.");
  const std::array<std::pair<std::string_view, std::chrono::milliseconds>, 3> quantiles = {
      {{"0.5", latency.p50}, {"0.95", latency.p95}, {"0.99", latency.p99}}};
  for (const auto& [quantile, duration] : quantiles) {
    out.sample(inSeconds(duration), {{"quantile", quantile}});
  }
  out.sample(inSeconds(latency.average) * static_cast<double>(latency.count), {}, "_sum");
  out.sample(latency.count, {}, "_count");
}

void addReceiving(Exposition& out, const Stats& stats) {
  out.family("ackbox_received_frames_total", Type::counter, "Inbound frames by what became of them.");
  out.sample(stats.received, {{"outcome", "applied"}});
  out.sample(stats.duplicates, {{"outcome", "duplicate"}});
  out.sample(stats.deferred, {{"outcome", "deferred"}});
  out.single("ackbox_duplicate_frames_total", Type::counter, "Inbound duplicates suppressed.", stats.duplicates);
  out.single("ackbox_sequence_gaps_total", Type::counter, "Numbered gaps that inbound sessions passed.", stats.gaps);
  out.family("ackbox_refused_requests_total", Type::counter, "Inbound requests refused on account of their sender.");
  out.sample(stats.refusedUnauthenticated, {{"status", "401"}});
  out.sample(stats.refusedForbidden, {{"status", "403"}});
  out.single("ackbox_limited_frames_total", Type::counter, "Inbound frames put off because their sender is at a limit.",
             stats.refusedLimits);
  out.family("ackbox_refused_frames_total", Type::counter,
             "Inbound frames refused for what they say of their store or id.");
  out.sample(stats.staleEpochs, {{"reason", "stale-epoch"}});
  out.sample(stats.idConflicts, {{"reason", "id-conflict"}});
  out.single("ackbox_refused_acks_total", Type::counter, "Results of ACK events that were not believed.",
             stats.refusedAcks);
  out.single("ackbox_inbox_frames", Type::gauge, "Deferred frames that wait or run.", stats.inbox);
  out.single("ackbox_inbox_bytes", Type::gauge, "Bytes of their data.", stats.inboxBytes);
}

void addFile(Exposition& out, const Stats& stats, const manager::Core& core, std::size_t owners) {
  out.single("ackbox_database_bytes", Type::gauge, "Bytes of the file, without its log.", stats.fileBytes);
  out.single("ackbox_wal_bytes", Type::gauge, "Bytes of the write-ahead log.", stats.walBytes);
  out.single("ackbox_free_bytes", Type::gauge, "Bytes of the file that hold nothing.", stats.freeBytes);
  out.single("ackbox_disk_available_bytes", Type::gauge,
             "Bytes that this process may still write on the file system of the file; NaN: it does not say.",
             availableBytes(core.logFile()));
  out.single("ackbox_owners", Type::gauge, "Managers that have the outbox open.", std::uint64_t{owners});
  out.family("ackbox_build_info", Type::info, "1; the version of the library.");
  out.sample(std::uint64_t{1}, {{"version", kVersion}});
  out.family("ackbox_store_info", Type::info, "1; the identity of the outbox.");
  const std::string& origin = core.origin();
  out.sample(std::uint64_t{1}, {{"origin", origin}});
}

}  // namespace

std::string prometheusText(const OutboxManager& manager, MetricsFormat format) {
  const OutboxReader reader(manager);
  const Stats stats = manager.getStats();
  const manager::Core& core = *manager::CoreOf::manager(manager);
  Exposition out(format);
  addPeers(out, reader.peerStats(), reader.peers());
  addDelivery(out, stats, core.options());
  addReceiving(out, stats);
  addFile(out, stats, core, reader.processIds().size());
  return out.take();
}

}  // namespace ackbox
