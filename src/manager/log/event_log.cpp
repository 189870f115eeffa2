#include "manager/log/event_log.hpp"

#include <chrono>
#include <string>

#include "base/timestamp.hpp"

namespace ackbox::manager {
namespace {

// The tolerance for the start of one absence in two answers of a peer, which were under way for different times.
constexpr std::chrono::seconds kApart{5};

std::string at(WallTime time) {
  return time == WallTime() ? std::string() : formatTimestamp(time);
}

std::string remedyOf(const PeerEvent& event) {
  return !event.cause.starts_with("stale-epoch")
             ? "correct the cause, then `ackbox resume` tries it at once"
             : "`ackbox resume` does not help: restore.md says what to do with a file that was restored or is used "
               "twice";
}

std::string sentenceOf(const PeerEvent& event) {
  const std::string peer = "peer '" + event.peer + "' ";
  const std::string next =
      event.nextProbeAt == WallTime() ? std::string() : "; it is tried again at " + at(event.nextProbeAt);
  switch (event.state) {
    case PeerState::up:
      return peer + "answers";
    case PeerState::down:
      return peer + "cannot be reached: " + event.cause + next + ", and its messages wait";
    case PeerState::held:
      return peer + "refuses this agent: " + event.cause + next + ", and its messages wait; " + remedyOf(event);
    case PeerState::disabled:
      return peer + "says that it is gone for good: " + event.cause + "; its messages wait until `ackbox resume`";
    case PeerState::paused:
      return peer + "was paused by hand; its messages wait until `ackbox resume`";
  }
  return {};
}

const char* nameOf(PeerState state) {
  switch (state) {
    case PeerState::up:
      return "peer-up";
    case PeerState::down:
      return "peer-down";
    case PeerState::held:
      return "peer-held";
    case PeerState::disabled:
      return "peer-disabled";
    case PeerState::paused:
      break;
  }
  return "peer-paused";
}

}  // namespace

EventLog::EventLog(EventHub& hub, Log& log) : log_(log) {
  subscriptions_.push_back(hub.peer.add([this](const PeerEvent& event) { peerChanged(event); }));
  subscriptions_.push_back(hub.health.add([this](const HealthEvent& event) { healthChanged(event); }));
  if (log.takes(LogLevel::error)) {
    subscriptions_.push_back(hub.peerReset.add([this](const PeerResetEvent& event) { peerWentBack(event); }));
  }
  if (log.takes(LogLevel::warning)) {
    subscriptions_.push_back(hub.failed.add([this](const FailedEvent& event) {
      log_.write(LogLevel::warning, "dead-letter",
                 "a message is a dead letter: " + (event.error.empty() ? event.reason : event.error),
                 {{"message", event.messageId},
                  {"peer", event.peer},
                  {"session", event.session},
                  {"reason", event.reason},
                  {"error", event.error}});
    }));
    subscriptions_.push_back(hub.sent.add([this](const SentEvent& event) { peerHolds(event); }));
  }
  if (log.takes(LogLevel::info)) {
    subscriptions_.push_back(hub.retry.add([this](const RetryEvent& event) {
      if (event.asksAgain) {
        return;
      }
      log_.write(LogLevel::info, "message-retry", "a message is tried again later: " + event.error,
                 {{"message", event.messageId},
                  {"peer", event.peer},
                  {"session", event.session},
                  {"retries", std::to_string(event.retryCount)},
                  {"next_attempt_at", at(event.nextAttemptAt)},
                  {"error", event.error}});
    }));
  }
  if (log.takes(LogLevel::debug)) {
    subscriptions_.push_back(hub.retry.add([this](const RetryEvent& event) {
      if (event.asksAgain) {
        log_.write(LogLevel::debug, "message-asked", "the peer is asked what became of a message that it deferred",
                   {{"message", event.messageId}, {"peer", event.peer}, {"session", event.session}});
      }
    }));
    subscriptions_.push_back(hub.sent.add([this](const SentEvent& event) {
      log_.write(LogLevel::debug, "message-sent", "the peer holds a message",
                 {{"message", event.messageId}, {"peer", event.peer}, {"session", event.session}});
    }));
    subscriptions_.push_back(hub.acked.add([this](const AckedEvent& event) {
      log_.write(LogLevel::debug, "message-acked", "the peer has applied a message",
                 {{"message", event.messageId},
                  {"peer", event.peer},
                  {"session", event.session},
                  {"duplicate", event.duplicate ? "true" : "false"}});
    }));
    subscriptions_.push_back(hub.superseded.add([this](const SupersededEvent& event) {
      log_.write(LogLevel::debug, "message-superseded", "a message was taken away before it was sent",
                 {{"message", event.messageId},
                  {"peer", event.peer},
                  {"session", event.session},
                  {"superseded_by", event.supersededById}});
    }));
  }
}

bool EventLog::wasPaused(const PeerEvent& event) {
  const MutexLock lock(mutex_);
  if (event.state == PeerState::paused) {
    return !paused_.insert(event.peer).second;
  }
  return paused_.erase(event.peer) > 0;
}

void EventLog::peerChanged(const PeerEvent& event) {
  const bool isResumed = wasPaused(event) && event.state == PeerState::up;
  const std::string text = sentenceOf(event);
  const std::string since = at(event.since);
  const std::string next = at(event.nextProbeAt);
  const Log::Fields fields = {
      {"peer", event.peer}, {"cause", event.cause}, {"since", since}, {"next_attempt_at", next}};
  switch (event.state) {
    case PeerState::down:
    case PeerState::held:
    case PeerState::disabled:
      log_.writeUnasked(LogLevel::warning, nameOf(event.state), event.peer, text, fields);
      break;
    case PeerState::up:
    case PeerState::paused:
      log_.write(LogLevel::info, isResumed ? "peer-resumed" : nameOf(event.state),
                 isResumed ? "peer '" + event.peer + "' was resumed by an operator" : text, {{"peer", event.peer}});
      break;
  }
}

bool EventLog::isNewAbsence(const std::string& peer, WallTime since) {
  const MutexLock lock(mutex_);
  const auto [found, isFirst] = absences_.try_emplace(peer, since);
  const bool isNew = isFirst || since > found->second + kApart;
  if (isNew) {
    found->second = since;
  }
  return isNew;
}

void EventLog::peerHolds(const SentEvent& event) {
  if (event.unattendedSince && isNewAbsence(event.peer, *event.unattendedSince)) {
    log_.write(
        LogLevel::warning, "peer-unattended",
        "peer '" + event.peer + "' has received a message and has no application for it; the message waits there",
        {{"peer", event.peer},
         {"since", at(*event.unattendedSince)},
         {"message", event.messageId},
         {"session", event.session}});
  }
}

void EventLog::peerWentBack(const PeerResetEvent& event) {
  const bool isOwn = event.kind == PeerResetKind::selfRestored;
  log_.write(isOwn ? LogLevel::error : LogLevel::warning, "peer-reset",
             isOwn
                 ? "this outbox was restored from a backup, or is a copy of one that is in use: nothing is sent to the "
                   "peer (docs/restore.md says what to do)"
                 : "a peer's outbox was lost or restored from a backup (docs/restore.md says what to do)",
             {{"peer", event.peer},
              {"kind", toString(event.kind)},
              {"session", event.session},
              {"expected", std::to_string(event.expected)},
              {"accepted", std::to_string(event.accepted)},
              {"resent", std::to_string(event.resent)}});
}

void EventLog::healthChanged(const HealthEvent& event) {
  const Log::Fields fields = {{"check", toString(event.check)}, {"peer", event.peer}};
  if (!event.raised) {
    log_.write(LogLevel::info, "well-again", event.sentence, fields);
  } else if (event.check == HealthCheck::process) {
    // Delivery has stopped, or may stop soon: the file was replaced, the disk is full, or code threw.
    log_.writeUnasked(LogLevel::error, "unwell", event.sentence, event.sentence, fields);
  } else {
    log_.write(LogLevel::warning, "unwell", event.sentence, fields);
  }
}

}  // namespace ackbox::manager
