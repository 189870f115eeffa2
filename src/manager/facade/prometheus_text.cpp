#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ackbox/metrics.hpp"
#include "ackbox/outbox_manager.hpp"
#include "ackbox/outbox_reader.hpp"
#include "ackbox/version.hpp"

namespace ackbox {
namespace {

using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::vector<Label>;

/// A label's value as the format has it.
std::string escaped(std::string_view value) {
  std::string text;
  for (const char letter : value) {
    if (letter == '\n') {
      text += "\\n";
    } else if (letter == '"' || letter == '\\') {
      text += '\\';
      text += letter;
    } else {
      text += letter;
    }
  }
  return text;
}

std::string numberText(double value) {
  std::array<char, 32> buffer{};
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return error == std::errc() ? std::string(buffer.data(), end) : "0";
}

double inSeconds(std::chrono::milliseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

/// Writes one metric family after the other.
class Exposition {
public:
  void family(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text_.append(name).append(" ").append(type).append("\n");
  }
  void sample(std::uint64_t value, const Labels& labels = {}, std::string_view suffix = {}) {
    line(std::to_string(value), labels, suffix);
  }
  void sample(double value, const Labels& labels = {}, std::string_view suffix = {}) {
    line(numberText(value), labels, suffix);
  }
  /// A family of one series.
  template <typename Number>
  void single(std::string_view name, std::string_view type, std::string_view help, Number value) {
    family(name, type, help);
    sample(value);
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

private:
  void line(const std::string& value, const Labels& labels, std::string_view suffix) {
    text_.append(name_).append(suffix);
    if (!labels.empty()) {
      char before = '{';
      for (const auto& [label, text] : labels) {
        text_.append(1, before).append(label).append("=\"").append(escaped(text)).append("\"");
        before = ',';
      }
      text_.append("}");
    }
    text_.append(" ").append(value).append("\n");
  }

  std::string name_;
  std::string text_;
};

void addPeers(Exposition& out, const std::vector<PeerStats>& peers, const std::vector<PeerStatus>& circuits) {
  const auto perPeer = [&](std::string_view name, std::string_view type, std::string_view help,
                           std::uint64_t PeerStats::*figure) {
    out.family(name, type, help);
    for (const PeerStats& peer : peers) {
      out.sample(peer.*figure, {{"peer", peer.peer}});
    }
  };
  out.family("ackbox_messages", "gauge", "Messages in the outbox by state; failed are dead letters.");
  for (const PeerStats& peer : peers) {
    out.sample(peer.pending, {{"peer", peer.peer}, {"state", "pending"}});
    out.sample(peer.sending, {{"peer", peer.peer}, {"state", "sending"}});
    out.sample(peer.sent, {{"peer", peer.peer}, {"state", "sent"}});
    out.sample(peer.failed, {{"peer", peer.peer}, {"state", "failed"}});
  }
  perPeer("ackbox_pending_bytes", "gauge", "Bytes of data of messages that are not settled.", &PeerStats::pendingBytes);
  perPeer("ackbox_enqueued_messages_total", "counter", "Messages stored by enqueues.", &PeerStats::enqueued);
  perPeer("ackbox_acked_messages_total", "counter", "Messages acknowledged by their peer.", &PeerStats::acked);
  perPeer("ackbox_dead_letters_total", "counter", "Messages given up; a redriven one may count again.",
          &PeerStats::failedTotal);
  perPeer("ackbox_retries_total", "counter", "Charged attempts that were scheduled again.", &PeerStats::totalRetries);
  out.family("ackbox_peer_up", "gauge", "1: messages go to the peer. 0: it is down, held, disabled or paused.");
  for (const PeerStatus& peer : circuits) {
    out.sample(std::uint64_t{peer.state == PeerState::up ? 1U : 0U}, {{"peer", peer.name}});
  }
}

void addDelivery(Exposition& out, const Stats& stats) {
  out.single("ackbox_oldest_message_age_seconds", "gauge", "Age of the oldest message that is not settled.",
             stats.oldestPendingAge ? inSeconds(*stats.oldestPendingAge) : 0.0);
  out.single("ackbox_superseded_messages_total", "counter", "Messages replaced by a later one before they were sent.",
             stats.superseded);
  const LatencyStats& latency = stats.enqueueToAck;
  out.family("ackbox_ack_latency_seconds", "summary",
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
  out.family("ackbox_received_frames_total", "counter", "Inbound frames by what became of them.");
  out.sample(stats.received, {{"outcome", "applied"}});
  out.sample(stats.duplicates, {{"outcome", "duplicate"}});
  out.sample(stats.deferred, {{"outcome", "deferred"}});
  out.single("ackbox_duplicate_frames_total", "counter", "Inbound duplicates suppressed.", stats.duplicates);
  out.single("ackbox_sequence_gaps_total", "counter", "Numbered gaps that inbound sessions passed.", stats.gaps);
  out.family("ackbox_refused_requests_total", "counter", "Inbound requests refused on account of their sender.");
  out.sample(stats.refusedUnauthenticated, {{"status", "401"}});
  out.sample(stats.refusedForbidden, {{"status", "403"}});
  out.single("ackbox_limited_frames_total", "counter", "Inbound frames put off because their sender is at a limit.",
             stats.refusedLimits);
  out.single("ackbox_inbox_frames", "gauge", "Deferred frames that wait or run.", stats.inbox);
  out.single("ackbox_inbox_bytes", "gauge", "Bytes of their data.", stats.inboxBytes);
}

void addFile(Exposition& out, const Stats& stats, const OutboxManager& manager, std::size_t owners) {
  out.single("ackbox_database_bytes", "gauge", "Bytes of the file, without its log.", stats.fileBytes);
  out.single("ackbox_wal_bytes", "gauge", "Bytes of the write-ahead log.", stats.walBytes);
  out.single("ackbox_owners", "gauge", "Managers that have the file open.", std::uint64_t{owners});
  out.family("ackbox_build_info", "gauge", "1; the version of the library.");
  out.sample(std::uint64_t{1}, {{"version", kVersion}});
  out.family("ackbox_store_info", "gauge", "1; the identity of the file.");
  const std::string origin = manager.origin();
  out.sample(std::uint64_t{1}, {{"origin", origin}});
}

}  // namespace

std::string prometheusText(const OutboxManager& manager) {
  const OutboxReader reader(manager);
  const Stats stats = manager.getStats();
  Exposition out;
  addPeers(out, reader.peerStats(), reader.peers());
  addDelivery(out, stats);
  addReceiving(out, stats);
  addFile(out, stats, manager, reader.processIds().size());
  return out.take();
}

}  // namespace ackbox
