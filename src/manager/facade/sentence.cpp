#include "manager/facade/sentence.hpp"

#include <algorithm>
#include <utility>

#include "base/timestamp.hpp"

namespace ackbox {
namespace {

std::string processText(const Reason& reason) {
  return reason.processId == 0 ? "an unknown process" : "process " + std::to_string(reason.processId);
}

std::string quoted(const std::string& detail) {
  return detail.empty() ? std::string() : " (" + detail + ")";
}

std::string times(std::uint32_t count) {
  return count == 1 ? "once" : std::to_string(count) + " times";
}

// `in 12 s`; what is over comes at once.
std::string countdown(WallTime until, WallTime now) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(until - now).count();
  return seconds > 0 ? "in " + std::to_string(seconds) + " s" : "now";
}

// `for 4 min`, in the largest unit of which there are two.
std::string agoText(WallTime since, WallTime now) {
  const auto seconds = std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - since).count());
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  constexpr std::int64_t kDay = 24 * kHour;
  if (seconds >= 2 * kDay) {
    return "for " + std::to_string(seconds / kDay) + " d";
  }
  if (seconds >= 2 * kHour) {
    return "for " + std::to_string(seconds / kHour) + " h";
  }
  return "for " +
         (seconds >= 2 * kMinute ? std::to_string(seconds / kMinute) + " min" : std::to_string(seconds) + " s");
}

std::string behindText(const Reason& reason) {
  if (reason.sequence == 0) {
    return "others of its session may go before it, too far ahead to look for";
  }
  std::string text = "it waits behind sequence " + std::to_string(reason.sequence);
  if (reason.retryCount != 0) {
    text += ", which failed " + times(reason.retryCount);
    text += reason.detail.empty() ? "" : ", last " + reason.detail;
  }
  return text;
}

// Resuming helps only where the peer may accept messages of this file again.
std::string heldText(const Reason& reason, const std::string& until, bool isProbed) {
  // The cause may be on this side, such as an invalid URL: the detail says so.
  const std::string text =
      "the peer is held" + quoted(reason.detail) + (isProbed ? " and is asked again at " + until : std::string());
  if (reason.detail.starts_with("stale-epoch")) {
    return text + "; see docs/restore.md, 'A restored sender'; resume does not help";
  }
  return text + "; correct the cause and resume the peer";
}

std::string deadLetterText(const Reason& reason, const MessageInfo& message, const std::string& until) {
  return "it is a dead letter" + (reason.until == WallTime{} ? std::string() : " since " + until) + " with reason " +
         reason.detail + (message.lastError.empty() ? std::string() : " (last error: " + message.lastError + ")") +
         "; retry or discard it";
}

std::string backoffText(const Reason& reason, const std::string& until, bool isProbed, WallTime now) {
  return (isProbed ? "it tries again " + countdown(reason.until, now) + ", at " + until
                   : "its next attempt is due at " + until) +
         quoted(reason.detail);
}

std::string downText(const Reason& reason, const MessageInfo& message, bool isProbed, WallTime now) {
  return "peer " + message.peer + " down since " + formatTimestamp(reason.since) +
         (isProbed ? ", next probe " + countdown(reason.until, now) : std::string()) + quoted(reason.detail);
}

std::string blockedText(const Reason& reason, const std::string& until) {
  return "sequence " + std::to_string(reason.sequence) + " of its session became a dead letter at " + until +
         " with reason " + reason.detail + " and blocks it; unblock the session, or redrive or discard that one";
}

std::string clause(const Reason& reason, const MessageInfo& message, bool isProbed, WallTime now) {
  const std::string until = formatTimestamp(reason.until);
  switch (reason.blockReason) {
    case BlockReason::acknowledged:
      return "it was acknowledged, and its row is kept until " + until;
    case BlockReason::deadLetter:
      return deadLetterText(reason, message, until);
    case BlockReason::awaitsAck:
      return std::string("the peer has it and will acknowledge, and shows its runs (ackbox inbox-explain there)") +
             (isProbed ? "; it is asked again at " : "; its deadline is ") + until;
    case BlockReason::peerUnattended:
      return "it waits for an application: when the peer last answered, it had none for type " + reason.detail +
             ", since " + formatTimestamp(reason.since);
    case BlockReason::inFlight:
      return processText(reason) + " is sending it";
    case BlockReason::ownerDead:
      return processText(reason) + " died with it or its session in flight; a running process will put it back";
    case BlockReason::expired:
      return "it expired at " + until + " and fails when its turn comes";
    case BlockReason::pastHorizon:
      return "its horizon ended at " + until + " and it fails when its turn comes";
    case BlockReason::notBefore:
      return "it is not to be sent before " + until;
    case BlockReason::behind:
      return behindText(reason);
    case BlockReason::sessionInFlight:
      return processText(reason) + " has its session in flight";
    case BlockReason::backoff:
      return backoffText(reason, until, isProbed, now);
    case BlockReason::peerDown:
      return downText(reason, message, isProbed, now);
    case BlockReason::peerNotConfigured:
      return "this process was not given the peer";
    case BlockReason::peerRemoved:
      return "the peer was removed at " + until + "; add it again, or remove it with its messages";
    case BlockReason::notRunning:
      break;
    case BlockReason::sessionBlocked:
      return blockedText(reason, until);
    case BlockReason::sessionPaused:
      return "its session was paused at " + until + "; resume it";
    case BlockReason::peerPaused:
      return "the peer was paused at " + until + "; resume it";
    case BlockReason::peerHeld:
      return heldText(reason, until, isProbed);
    case BlockReason::peerDisabled:
      return "the peer says that it is gone" + quoted(reason.detail) + "; correct its URL and resume the peer";
    case BlockReason::rateLimited:
      return "the peer's rate limit lets nothing go before " + until;
    case BlockReason::running:
    case BlockReason::noDeferredHandler:
    case BlockReason::handled:
    case BlockReason::refused:
    case BlockReason::ackEventsWait:
    case BlockReason::senderIsNoPeer:
    case BlockReason::applicationAway:
      break;
  }
  return {};
}

std::string inboxClause(const Reason& reason, const std::string& subject, WallTime now) {
  const std::string until = formatTimestamp(reason.until);
  switch (reason.blockReason) {
    case BlockReason::behind:
      return behindText(reason);
    case BlockReason::running:
      return processText(reason) + " has had " + subject + " in hand since " + formatTimestamp(reason.since);
    case BlockReason::applicationAway:
      return subject + " has waited " + agoText(reason.since, now) + ", since " + formatTimestamp(reason.since) +
             ", for " + reason.detail;
    case BlockReason::ownerDead:
      return processText(reason) + " died with " + subject + " in hand" +
             "; a running process with a deferred handler will run it again, without a charge";
    case BlockReason::backoff:
      return subject + " runs again " + countdown(reason.until, now) + ", at " + until + quoted(reason.detail);
    case BlockReason::noDeferredHandler:
      return "no live process has a deferred handler for this outbox (InboundOptions::deferred.handler)";
    case BlockReason::handled:
      return "its handler acknowledged it, and the result is kept until " + until;
    case BlockReason::refused:
      return "it was refused (" + reason.detail + "), and this outcome is kept until " + until;
    case BlockReason::ackEventsWait:
      return "ACK events to its sender, peer " + reason.detail +
             ", wait in the outbox: " + std::to_string(reason.sequence);
    case BlockReason::senderIsNoPeer:
      return "its sender is no peer of this outbox and learns it when it asks again, at its ackTimeout";
    default:
      return {};
  }
}

}  // namespace

std::string manager::sentenceOf(const Explanation& explanation, const NotRunning& notRunning, WallTime now) {
  const MessageInfo& message = explanation.message;
  std::string sentence = "Message " + message.messageId + ", ";
  if (message.sequence == 0) {
    sentence += "unordered,";
  } else {
    sentence += "sequence " + std::to_string(message.sequence) + " of session " + message.session;
  }
  sentence.append(" to peer ").append(message.peer).append(", is ").append(toString(message.state)).append(": ");
  if (explanation.reasons.empty()) {
    return sentence +
           (notRunning.othersMayRun
                ? std::string("nothing hinders it, it goes at the next claim.")
                : "nothing in the outbox hinders it: it goes at the next claim of a process that delivers and "
                  "was given peer " +
                      message.peer + ".");
  }
  // First, because the rest matters only once something delivers.
  const bool isRunning = std::none_of(explanation.reasons.begin(), explanation.reasons.end(), [](const Reason& reason) {
    return reason.blockReason == BlockReason::notRunning;
  });
  const char* separator = "";
  if (!isRunning) {
    sentence.append(notRunning.text);
    separator = "; ";
  }
  for (const Reason& reason : explanation.reasons) {
    if (reason.blockReason != BlockReason::notRunning) {
      sentence.append(separator).append(clause(reason, message, isRunning || notRunning.othersMayRun, now));
      separator = "; ";
    }
  }
  return sentence + '.';
}

std::string manager::sentenceOf(const InboxExplanation& explanation, WallTime now) {
  const InboxInfo& frame = explanation.frame;
  std::string sentence = "Frame " + frame.messageId + " of " + frame.source + ", ";
  if (frame.sequence == 0) {
    sentence += "unordered,";
  } else {
    sentence += "sequence " + std::to_string(frame.sequence) + " of session " + frame.session + ",";
  }
  sentence.append(" is ").append(toString(frame.state)).append(": ");
  if (explanation.reasons.empty()) {
    return sentence + "nothing hinders it: it runs when its handler or application has room.";
  }
  const char* separator = "";
  std::string subject = "it";
  for (const Reason& reason : explanation.reasons) {
    sentence.append(separator).append(inboxClause(reason, subject, now));
    separator = "; ";
    if (reason.blockReason == BlockReason::behind) {
      // What follows is about the first of its session.
      subject = "sequence " + std::to_string(reason.sequence);
    }
  }
  return sentence + '.';
}

void manager::completeFromFile(Explanation& explanation, bool isOpen, WallTime now) {
  const MessageState state = explanation.message.state;
  if ((state == MessageState::pending || state == MessageState::sent) && !isOpen) {
    explanation.reasons.push_back({.blockReason = BlockReason::notRunning, .detail = {}});
  }
  explanation.sentence =
      sentenceOf(explanation, {.text = "no process has the outbox open", .othersMayRun = false}, now);
}

}  // namespace ackbox
