#include "protocol/ack_document.hpp"

#include <limits>
#include <map>
#include <span>

#include "base/timestamp.hpp"
#include "json/fault.hpp"
#include "json/reader.hpp"
#include "protocol/ack_event.hpp"
#include "protocol/limits.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

// The limit keeps every instant that is computed from it within the calendar.
constexpr std::uint64_t kUnattendedMsMax = std::uint64_t{1000} * 60 * 60 * 24 * 3650;

std::optional<Outcome> parseOutcome(std::string_view name) noexcept {
  for (const Outcome outcome : {Outcome::ack, Outcome::defer, Outcome::nack, Outcome::term}) {
    if (name == toString(outcome)) {
      return outcome;
    }
  }
  return std::nullopt;
}

/// Reads an optional text, cut to `bytesMax`; false if the member is not a text.
bool readText(json::Members& members, std::string_view key, std::size_t bytesMax, std::string& into) {
  const std::optional<std::string_view> raw = members.find(key);
  const std::optional<std::string_view> text = raw ? members.decode(*raw) : std::nullopt;
  if (text) {
    into = std::string(truncated(*text, bytesMax));
  }
  return text || !raw;
}

/// Reads one entry of a list of results; false if it is not well-formed.
bool readResult(json::Members& entry, FrameResult& result) {
  const std::optional<Outcome> outcome = parseOutcome(entry.text("outcome").value_or(""));
  const std::string_view duplicate = entry.find("duplicate").value_or("false");
  if (!outcome || json::kindOf(duplicate) != json::Kind::boolean ||
      !readText(entry, "code", kCodeBytesMax, result.code) ||
      !readText(entry, "detail", kDetailBytesMax, result.detail)) {
    return false;
  }
  if (!isPlainText(result.code, kCodeBytesMax)) {
    result.code.clear();
  }
  result.outcome = *outcome;
  result.duplicate = duplicate == "true";
  result.held = result.outcome == Outcome::nack && result.code == "held";
  const auto wishMax = static_cast<std::uint64_t>(kRetryAfterMax.count());
  if (const auto wish = parseCapped(entry.find("retryafterms").value_or(""), wishMax)) {
    result.retryAfter = std::chrono::milliseconds(*wish);
  }
  if (result.outcome == Outcome::defer) {
    if (const auto time = parseCapped(entry.find("unattendedms").value_or(""), kUnattendedMsMax)) {
      result.unattended = std::chrono::milliseconds(*time);
    }
  }
  result.result = entry.find("result").value_or("");
  return true;
}

bool readResults(std::string_view list, const SendRequest& request, std::vector<FrameResult>& results) {
  results.reserve(request.frames.size());
  json::ElementReader entries(list);
  json::Members entry;
  for (const OutboundFrame& frame : request.frames) {
    if (!entries.nextMembers(entry) || entry.text("id") != frame.messageId ||
        !readResult(entry, results.emplace_back())) {
      return false;
    }
  }
  return entries.atEnd();
}

/// A grant is optional: an unreadable one is ignored and costs no result.
void readCredit(const json::Members& document, AckDocument& into) {
  if (const std::optional<json::Members> credit = json::Members::read(document.find("credit").value_or(""))) {
    into.creditFrames =
        static_cast<std::uint32_t>(parseCapped(credit->find("frames").value_or(""), kCreditFramesMax).value_or(0));
    into.creditBytes = parseCapped(credit->find("bytes").value_or(""), kCreditBytesMax).value_or(0);
  }
}

/// Whether the request has another id for the number that the peer has accepted last.
bool contradicts(const SessionReport& progress, const SendRequest& request) {
  const std::string& session = request.frames[progress.firstFrame].session;
  for (std::size_t index = progress.firstFrame; index < request.frames.size(); ++index) {
    const OutboundFrame& frame = request.frames[index];
    if (frame.session != session) {
      return false;
    }
    if (frame.sequence == progress.accepted) {
      return !progress.acceptedId.empty() && frame.messageId != progress.acceptedId;
    }
  }
  return false;
}

/// The sessions of a request that the peer has not reported on.
class UnreportedSessions {
public:
  explicit UnreportedSessions(const SendRequest& request) : frames_(request.frames) { seek(); }

  [[nodiscard]] bool empty() const noexcept { return byName_ ? byName_->empty() : next_ == frames_.size(); }

  /// The index of the session's first frame; nothing if the session is not in the request or was reported already.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view session) {
    // Peers report in the request's order. If one does not, sessions are looked up by name.
    if (!byName_ && !empty() && frames_[next_].session == session) {
      return next_;
    }
    if (!byName_) {
      byName_.emplace();
      for (; next_ < frames_.size(); pass()) {
        byName_->emplace(frames_[next_].session, next_);
      }
    }
    const auto place = byName_->find(session);
    return place == byName_->end() ? std::nullopt : std::optional(place->second);
  }

  /// Marks the session at `firstFrame`, a result of `find`, as reported.
  void remove(std::size_t firstFrame) {
    if (byName_) {
      byName_->erase(frames_[firstFrame].session);
    } else {
      pass();
    }
  }

private:
  /// Moves `next_` to the first frame, from there on, that has a number.
  void seek() noexcept {
    while (next_ < frames_.size() && frames_[next_].sequence == 0) {
      ++next_;
    }
  }

  /// Moves `next_` to the first frame of the next session; the frames of a session are adjacent.
  void pass() noexcept {
    const std::string_view session = frames_[next_].session;
    while (next_ < frames_.size() && frames_[next_].session == session) {
      ++next_;
      seek();
    }
  }

  std::span<const OutboundFrame> frames_;
  std::size_t next_ = 0;
  std::optional<std::map<std::string_view, std::size_t>> byName_;
};

/// Reads one session's entry; nothing if it cannot be read, or names no session of the request or one that was
/// reported.
std::optional<SessionReport> takeSession(json::Members& entry, const SendRequest& request,
                                         UnreportedSessions& unreported) {
  const std::optional<std::string_view> id = entry.text("id");
  const std::optional<std::size_t> firstFrame = id ? unreported.find(*id) : std::nullopt;
  const std::optional<std::uint64_t> accepted = parseCounter(entry.text("accepted").value_or(""));
  const std::optional<std::string_view> origin = entry.find("origin");
  SessionReport progress;
  if (!firstFrame || !accepted || (origin && entry.decode(*origin) != request.origin) ||
      !readText(entry, "acceptedid", kIdBytesMax, progress.acceptedId)) {
    return std::nullopt;
  }
  progress.firstFrame = *firstFrame;
  progress.accepted = *accepted;
  progress.isOther = contradicts(progress, request);
  unreported.remove(*firstFrame);
  return progress;
}

/// Reads how far the peer has come; unreadable entries are skipped and cost no result.
void readSessions(const json::Members& document, const SendRequest& request, AckDocument& into) {
  const std::string_view list = document.find("sessions").value_or("");
  if (json::kindOf(list) != json::Kind::array) {
    return;
  }
  UnreportedSessions unreported(request);
  json::ElementReader entries(list);
  json::Members entry;
  while (!entries.atEnd() && !unreported.empty()) {
    const bool isRead = entries.nextMembers(entry);
    if (std::optional<SessionReport> progress = isRead ? takeSession(entry, request, unreported) : std::nullopt) {
      into.sessions.push_back(*std::move(progress));
    }
  }
}

}  // namespace

std::optional<std::vector<NamedResult>> readAckEvent(std::string_view data) {
  const std::optional<json::Members> members = json::Members::read(json::trim(data));
  const std::string_view list = members ? members->find("results").value_or("") : "";
  if (json::kindOf(list) != json::Kind::array) {
    return std::nullopt;
  }
  std::vector<NamedResult> results;
  json::ElementReader entries(list);
  json::Members entry;
  while (!entries.atEnd()) {
    const std::optional<std::string_view> id = entries.nextMembers(entry) ? entry.text("id") : std::nullopt;
    if (!id || results.size() == kAckEventResultsMax) {
      return std::nullopt;
    }
    NamedResult& named = results.emplace_back();
    named.id = *id;
    named.sequence =
        parseCapped(entry.text("sessionseq").value_or(""), std::numeric_limits<std::uint64_t>::max()).value_or(0);
    named.time = parseTimestamp(entry.text("time").value_or(""));
    if (!readResult(entry, named.result)) {
      return std::nullopt;
    }
  }
  return results.empty() ? std::nullopt : std::optional(std::move(results));
}

std::optional<AckDocument> readAckDocument(std::string_view body, const SendRequest& request,
                                           std::string_view delivery) {
  if (json::findFault(body, kAnswerDepthMax) != json::Fault::none) {
    return std::nullopt;
  }
  std::optional<json::Members> members = json::Members::read(json::trim(body));
  if (!members || members->text("outbox") != kVersion || members->text("delivery") != delivery) {
    return std::nullopt;
  }
  AckDocument document;
  const std::string_view list = members->find("results").value_or("");
  if (json::kindOf(list) != json::Kind::array || !readResults(list, request, document.results)) {
    return std::nullopt;
  }
  readCredit(*members, document);
  if (readText(*members, "store", kIdBytesMax, document.store)) {
    document.storeEpoch = parseCounter(members->text("storeepoch").value_or("")).value_or(0);
  }
  readSessions(*members, request, document);
  return document;
}

}  // namespace ackbox::protocol
