#include "protocol/ack_document.hpp"

#include <limits>
#include <map>

#include "protocol/json_reader.hpp"
#include "protocol/json_text.hpp"
#include "protocol/limits.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

std::optional<Outcome> parseOutcome(std::string_view name) noexcept {
  for (const Outcome outcome : {Outcome::ack, Outcome::defer, Outcome::nack, Outcome::term}) {
    if (name == toString(outcome)) {
      return outcome;
    }
  }
  return std::nullopt;
}

bool isText(const Members& members, std::string_view key, std::string_view wanted) {
  const std::optional<std::string_view> raw = members.find(key);
  return raw && decodeString(*raw) == wanted;
}

/// An optional text, cut to `bytesMax`; false when the member is there and is none.
bool readText(const Members& members, std::string_view key, std::size_t bytesMax, std::string& into) {
  const std::optional<std::string_view> raw = members.find(key);
  if (!raw) {
    return true;
  }
  const std::optional<std::string> text = decodeString(*raw);
  into = truncated(text.value_or(std::string()), bytesMax);
  return text.has_value();
}

std::optional<std::vector<FrameResult>> readResults(std::string_view list, const SendRequest& request) {
  std::vector<FrameResult> results;
  results.reserve(request.frames.size());
  ElementReader entries(list);
  for (const OutboundFrame& frame : request.frames) {
    const std::optional<std::string_view> entry = entries.next();
    std::optional<NamedResult> named = entry ? readNamedResult(*entry) : std::nullopt;
    if (!named || named->id != frame.messageId) {
      return std::nullopt;
    }
    results.push_back(std::move(named->result));
  }
  if (entries.next()) {
    return std::nullopt;
  }
  return results;
}

/// A grant is a courtesy: one that cannot be read is none, and costs no result.
void readCredit(const Members& document, AckDocument& into) {
  const std::string_view raw = document.find("credit").value_or("");
  const std::optional<Members> credit = kindOf(raw) == JsonKind::object ? Members::read(raw) : std::nullopt;
  if (credit) {
    into.creditFrames =
        static_cast<std::uint32_t>(parseCapped(credit->find("frames").value_or(""), kCreditFramesMax).value_or(0));
    into.creditBytes = parseCapped(credit->find("bytes").value_or(""), kCreditBytesMax).value_or(0);
  }
}

/// Whether the request has a frame with the number that the word is about, and another id.
bool contradicts(const SessionWord& word, const SendRequest& request) {
  const std::string& session = request.frames[word.firstFrame].session;
  for (std::size_t index = word.firstFrame; index < request.frames.size(); ++index) {
    const OutboundFrame& frame = request.frames[index];
    if (frame.session != session) {
      return false;
    }
    if (frame.sequence == word.accepted) {
      return !word.acceptedId.empty() && frame.messageId != word.acceptedId;
    }
  }
  return false;
}

/// One session's entry; nothing when it cannot be read or is of no session of the request. Of a session only the first
/// entry counts.
std::optional<SessionWord> takeSession(std::string_view entry, const SendRequest& request,
                                       std::map<std::string_view, std::size_t>& firstFrames) {
  const std::optional<Members> members = kindOf(entry) == JsonKind::object ? Members::read(entry) : std::nullopt;
  const std::optional<std::string> id = members ? decodeString(members->find("id").value_or("null")) : std::nullopt;
  const auto place = id ? firstFrames.find(*id) : firstFrames.end();
  if (place == firstFrames.end()) {
    return std::nullopt;
  }
  const auto accepted = parseCounter(decodeString(members->find("accepted").value_or("null")).value_or(std::string()));
  const std::optional<std::string_view> origin = members->find("origin");
  SessionWord word;
  if (!accepted || (origin && decodeString(*origin) != request.origin) ||
      !readText(*members, "acceptedid", kIdBytesMax, word.acceptedId)) {
    return std::nullopt;
  }
  word.firstFrame = place->second;
  word.accepted = *accepted;
  word.isOther = contradicts(word, request);
  firstFrames.erase(place);
  return word;
}

/// How far the peer has come, where that can be read; what cannot costs no result.
void readSessions(const Members& document, const SendRequest& request, AckDocument& into) {
  const std::string_view list = document.find("sessions").value_or("");
  if (kindOf(list) != JsonKind::array) {
    return;
  }
  std::map<std::string_view, std::size_t> firstFrames;
  for (std::size_t index = 0; index < request.frames.size(); ++index) {
    if (request.frames[index].sequence != 0) {
      firstFrames.emplace(request.frames[index].session, index);
    }
  }
  ElementReader entries(list);
  for (std::optional<std::string_view> entry = entries.next(); entry && !firstFrames.empty(); entry = entries.next()) {
    if (std::optional<SessionWord> word = takeSession(*entry, request, firstFrames)) {
      into.sessions.push_back(*std::move(word));
    }
  }
}

}  // namespace

std::optional<NamedResult> readNamedResult(std::string_view entry) {
  const std::optional<Members> members = kindOf(entry) == JsonKind::object ? Members::read(entry) : std::nullopt;
  std::optional<std::string> id = members ? decodeString(members->find("id").value_or("null")) : std::nullopt;
  if (!id) {
    return std::nullopt;
  }
  FrameResult result;
  const std::optional<Outcome> outcome =
      parseOutcome(decodeString(members->find("outcome").value_or("null")).value_or(std::string()));
  const std::string_view duplicate = members->find("duplicate").value_or("false");
  if (!outcome || kindOf(duplicate) != JsonKind::boolean || !readText(*members, "code", kCodeBytesMax, result.code) ||
      !readText(*members, "detail", kDetailBytesMax, result.detail)) {
    return std::nullopt;
  }
  result.outcome = *outcome;
  result.duplicate = duplicate == "true";
  result.held = result.outcome == Outcome::nack && result.code == "held";
  const auto wishMax = static_cast<std::uint64_t>(kRetryAfterMax.count());
  if (const auto wish = parseCapped(members->find("retryafterms").value_or(""), wishMax)) {
    result.retryAfter = std::chrono::milliseconds(*wish);
  }
  result.result = members->find("result").value_or("");
  const std::string sequence = decodeString(members->find("sessionseq").value_or("null")).value_or(std::string());
  return NamedResult{std::move(*id), parseCapped(sequence, std::numeric_limits<std::uint64_t>::max()).value_or(0),
                     std::move(result)};
}

std::optional<std::vector<NamedResult>> readAckEvent(std::string_view data) {
  const std::string_view text = trimJson(data);
  const std::optional<Members> members = kindOf(text) == JsonKind::object ? Members::read(text) : std::nullopt;
  const std::string_view list = members ? members->find("results").value_or("") : "";
  if (kindOf(list) != JsonKind::array) {
    return std::nullopt;
  }
  std::vector<NamedResult> results;
  ElementReader entries(list);
  while (const std::optional<std::string_view> entry = entries.next()) {
    std::optional<NamedResult> named = readNamedResult(*entry);
    if (!named || results.size() == kCreditFramesMax) {
      return std::nullopt;
    }
    results.push_back(std::move(*named));
  }
  return results.empty() ? std::nullopt : std::optional(std::move(results));
}

std::optional<AckDocument> readAckDocument(std::string_view body, const SendRequest& request,
                                           std::string_view delivery) {
  if (findFault(body, kAnswerDepthMax) != JsonFault::none) {
    return std::nullopt;
  }
  const std::string_view text = trimJson(body);
  const std::optional<Members> members = kindOf(text) == JsonKind::object ? Members::read(text) : std::nullopt;
  if (!members || !isText(*members, "outbox", kVersion) || !isText(*members, "delivery", delivery)) {
    return std::nullopt;
  }
  const std::string_view list = members->find("results").value_or("");
  std::optional<std::vector<FrameResult>> results =
      kindOf(list) == JsonKind::array ? readResults(list, request) : std::nullopt;
  if (!results) {
    return std::nullopt;
  }
  AckDocument document;
  document.results = std::move(*results);
  readCredit(*members, document);
  if (readText(*members, "store", kIdBytesMax, document.store)) {
    document.storeEpoch =
        parseCounter(decodeString(members->find("storeepoch").value_or("null")).value_or(std::string())).value_or(0);
  }
  readSessions(*members, request, document);
  return document;
}

}  // namespace ackbox::protocol
