#include "serve/api/own_figures.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <set>

#include "ackbox/outbox_manager.hpp"
#include "ackbox/tls.hpp"

namespace ackbox::serve {
namespace {

using protocol::Exposition;

constexpr std::string_view kOtherReason = "other";
// The names of `FailedEvent::reason`. A peer's own codes are unlimited in number, and count as other.
constexpr std::array<std::string_view, 9> kReasons = {
    "rejected",    "retry-budget", "retry-policy",        "horizon",   "expired",
    "peer-killer", "damaged",      "discarded-by-policy", kOtherReason};

std::string_view knownReason(std::string_view reason) {
  const auto found = std::ranges::find(kReasons, reason);
  return found == kReasons.end() ? kOtherReason : *found;
}

double endOf(const std::filesystem::path& certificate) {
  const std::optional<WallTime> end = certificateEnds(certificate);
  return end ? std::chrono::duration<double>(end->time_since_epoch()).count()
             : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

OwnFigures::OwnFigures(const Config& config, std::shared_ptr<const SpanCounts> spans,
                       std::shared_ptr<const Refusals> refusals)
    : spans_(std::move(spans)), refusals_(std::move(refusals)) {
  const auto add = [this](const char* use, const std::filesystem::path& file) {
    if (!file.empty()) {
      certificates_.emplace_back(use, file);
    }
  };
  add("listen", config.api.tls.certificateFile);
  add("inbox", config.inbox ? config.inbox->server.tls.certificateFile : std::filesystem::path());
  add("sender", config.sender.tls.certificateFile);
}

void OwnFigures::watch(OutboxManager& manager) {
  subscription_ =
      manager.onFailed([failures = failures_](const FailedEvent& event) { add(*failures, event.peer, event.reason); });
}

void OwnFigures::add(Failures& failures, const std::string& peer, std::string_view reason) {
  const MutexLock lock(failures.mutex);
  ++failures.counts[{peer, knownReason(reason)}];
}

void OwnFigures::writeFailures(Exposition& out, const std::vector<PeerStats>& peers) const {
  out.family("ackbox_failed_messages_total", Exposition::Type::counter,
             "Messages that became dead letters, by reason, since this process began.");
  const MutexLock lock(failures_->mutex);
  for (const PeerStats& peer : peers) {
    for (const std::string_view reason : kReasons) {
      failures_->counts.try_emplace({peer.peer, reason}, 0);
    }
  }
  for (const auto& [series, count] : failures_->counts) {
    out.sample(count, {{"peer", series.first}, {"reason", series.second}});
  }
}

void OwnFigures::writeApplications(Exposition& out, const FrameWaits& waits) {
  out.family("ackbox_application_up", Exposition::Type::gauge,
             "1 unless frames wait for the application of an entry of inbox.deliver (push) or inbox.pull (pull).");
  // Two entries may have the same types; the later entry gets no frames.
  std::set<std::pair<std::string_view, std::string_view>> written;
  for (const FrameWaits::Entry& entry : waits.entries) {
    if (written.emplace(entry.way, entry.types).second) {
      out.sample(std::uint64_t{entry.isAway ? 0U : 1U}, {{"way", entry.way}, {"types", entry.types}});
    }
  }
  std::uint64_t frames = 0;
  for (const SilentConsumer& consumer : waits.silent) {
    frames += consumer.frames;
  }
  out.single("ackbox_silent_frames", Exposition::Type::gauge,
             "Received frames that applications have had from their streams for five minutes, settling none.", frames);
}

void OwnFigures::writeUnattended(Exposition& out, const std::vector<PeerStats>& peers,
                                 const UnattendedFrames& unattended, WallTime now) {
  const auto ageOf = [now](const std::optional<WallTime>& since) {
    return since ? std::max(0.0, std::chrono::duration<double>(now - *since).count()) : 0.0;
  };
  out.single("ackbox_unattended_frames", Exposition::Type::gauge,
             "Received frames that wait for an application, among the first 10000 of the inbox.", unattended.frames);
  out.single("ackbox_unattended_frames_age_seconds", Exposition::Type::gauge,
             "Age of the oldest of them; 0 if no frame waits.", ageOf(unattended.oldestAt));
  out.family("ackbox_peer_unattended_seconds", Exposition::Type::gauge,
             "For how long a peer has had no application for some of what it deferred; 0: it has.");
  for (const PeerStats& peer : peers) {
    out.sample(ageOf(peer.unattendedSince), {{"peer", peer.peer}});
  }
}

void OwnFigures::write(Exposition& out, const std::vector<PeerStats>& peers, const FrameWaits& waits,
                       const UnattendedFrames& unattended, WallTime now) const {
  writeFailures(out, peers);
  writeUnattended(out, peers, unattended, now);
  writeApplications(out, waits);
  refusals_->write(out);
  out.single("ackbox_exported_spans_total", Exposition::Type::counter, "Spans of traces that the collector has taken.",
             spans_->exported.load());
  out.single("ackbox_dropped_spans_total", Exposition::Type::counter,
             "Spans of traces that were lost, as the collector was away.", spans_->dropped.load());
  out.family("ackbox_certificate_end_timestamp_seconds", Exposition::Type::gauge,
             "When a certificate, or one of its chain, ends; NaN: its file cannot be read.");
  for (const auto& [use, file] : certificates_) {
    out.sample(endOf(file), {{"use", use}});
  }
}

}  // namespace ackbox::serve
