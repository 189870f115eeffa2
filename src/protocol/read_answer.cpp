#include "json/fault.hpp"
#include "json/reader.hpp"
#include "protocol/ack_document.hpp"
#include "protocol/answer_text.hpp"
#include "protocol/http_date.hpp"
#include "protocol/limits.hpp"
#include "protocol/media_type.hpp"
#include "protocol/text_rules.hpp"
#include "protocol/wire.hpp"

namespace ackbox::protocol {
namespace {

bool isSuccess(int status) noexcept {
  return status >= 200 && status < 300;
}

/// Whether a status reports an outage of the whole server, or of a proxy in front of it.
bool isOutage(int status) noexcept {
  return status == 502 || status == 503 || status == 504 || status == 507;
}

/// Whether a status names neither an outage nor a refusal, so that it may be about the frames.
bool isUnclear(int status) noexcept {
  const bool isOfClient = status >= 300 && status < 500;
  return !isOfClient && !isOutage(status);
}

/// Whether a status is a failure of the server with a frame: a 5xx that is no outage, or a number outside 100 to 599,
/// which counts as a 5xx (RFC 9110, 15).
bool isFault(int status) noexcept {
  return (status < 100 || status >= 500) && !isOutage(status);
}

/// The outcome of a request when the answer says nothing about its frames.
RequestOutcome judge(int status) noexcept {
  switch (status) {
    case 400:
    case 413:
    case 422:
      return RequestOutcome::requestRejected;
    case 408:
    case 425:
    case 429:
      return RequestOutcome::peerUnavailable;
    case 410:
      return RequestOutcome::peerGone;
    default:
      // A redirect is never followed, and a client error that is not about the body does not go away by itself.
      return status >= 300 && status < 500 ? RequestOutcome::peerRefused : RequestOutcome::peerUnavailable;
  }
}

std::optional<std::chrono::milliseconds> waitOf(std::string_view retryAfter, std::optional<WallTime> now) noexcept {
  return parseRetryAfter(retryAfter, now, std::chrono::duration_cast<std::chrono::seconds>(kRetryAfterMax));
}

/// Adds the text of an answer of any form, for people only.
void readText(std::string_view contentType, std::string_view body, SendReport& report) {
  if (const std::string said = textOfAnswer(contentType, body); !said.empty()) {
    report.error.append(": ").append(said);
  }
}

/// Adds the content of a problem document: its texts to the error, its `maxbytes` to the credit.
void readProblem(std::string_view contentType, std::string_view body, SendReport& report) {
  if (!isMediaType(contentType, kMediaTypeProblem) || json::findFault(body, kAnswerDepthMax) != json::Fault::none) {
    readText(contentType, body, report);
    return;
  }
  std::optional<json::Members> members = json::Members::read(json::trim(body));
  if (!members) {
    return;
  }
  for (const std::string_view key : {"title", "detail"}) {
    const std::string_view texts = members->text(key).value_or("");
    if (!texts.empty()) {
      report.error.append(": ").append(truncated(texts, kDetailBytesMax));
    }
  }
  report.creditBytes = parseCapped(members->find("maxbytes").value_or(""), kCreditBytesMax).value_or(0);
}

// For a signed problem document. A request sent back to its sender is refused with the same key, but in its own name.
bool isPeersProblem(const SendRequest& request, int status, std::string_view contentType, std::string_view body) {
  if (!isMediaType(contentType, kMediaTypeProblem) || json::findFault(body, kAnswerDepthMax) != json::Fault::none) {
    return false;
  }
  std::optional<json::Members> members = json::Members::read(json::trim(body));
  if (!members || members->find("status").value_or("") != std::to_string(status)) {
    return false;
  }
  const std::optional<std::string_view> author = members->text("agent");
  return !author || *author != request.agent;
}

}  // namespace

SendReport readAnswer(const SendRequest& request, std::string_view delivery, int status, std::string_view contentType,
                      std::string_view retryAfter, std::string_view body, std::optional<WallTime> now) {
  SendReport report;
  const bool mayAnswer = isSuccess(status) || status == 422 || status == 503;
  if (mayAnswer && !request.frames.empty() && isMediaType(contentType, kMediaTypeAck)) {
    if (std::optional<AckDocument> document = readAckDocument(body, request, webhookIdOf(request, delivery))) {
      // A Retry-After here repeats the delay of the one frame; it does not pause the peer.
      report.outcome = RequestOutcome::answered;
      report.results = std::move(document->results);
      report.creditFrames = document->creditFrames;
      report.creditBytes = document->creditBytes;
      report.store = std::move(document->store);
      report.storeEpoch = document->storeEpoch;
      report.sessions = std::move(document->sessions);
      return report;
    }
  }
  report.outcome = judge(status);
  report.isUnclear = isUnclear(status);
  report.retryAfter = waitOf(retryAfter, now);
  report.error = "HTTP " + std::to_string(status);
  if (isSuccess(status)) {
    report.error += " without an ACK document for this request";
  } else {
    readProblem(contentType, body, report);
  }
  return report;
}

SendReport readSignedAnswer(const SendRequest& request, std::string_view delivery, int status,
                            std::string_view contentType, std::string_view retryAfter, std::string_view body,
                            std::optional<WallTime> now) {
  SendReport report = readAnswer(request, delivery, status, contentType, retryAfter, body, now);
  const bool isForGood =
      report.outcome == RequestOutcome::requestRejected || report.outcome == RequestOutcome::peerGone;
  if (isForGood && !isPeersProblem(request, status, contentType, body)) {
    return readUnverifiedAnswer(request, status, retryAfter, contentType, body, now);
  }
  return report;
}

SendReport readUnverifiedAnswer(const SendRequest& request, int status, std::string_view retryAfter,
                                std::string_view contentType, std::string_view body, std::optional<WallTime> now) {
  SendReport report;
  report.outcome = judge(status);
  if (report.outcome == RequestOutcome::peerGone) {
    // Held and probed instead: a refusal for good must be signed by the peer.
    report.outcome = RequestOutcome::peerRefused;
  }
  report.isUnclear = isUnclear(status);
  report.retryAfter = waitOf(retryAfter, now);
  report.error = "HTTP " + std::to_string(status);
  if (status == 401) {
    // A receiver that cannot verify a request has no key to sign its refusal with.
    report.error += ": the receiver does not accept our signature: check that this agent's URI (" + request.agent +
                    ") is among the peers of the receiver's inbox, the secrets on both sides, and both clocks";
  } else if (status == 404) {
    report.error +=
        ", not signed with a key of this peer: check the path of the peer's `url`, and `secrets` on both sides";
  } else {
    report.error += ", and the answer was not signed with a key of this peer: check `secrets` on both sides";
  }
  if (const std::string said = textOfAnswer(contentType, body); !said.empty() && !isSuccess(status)) {
    report.error += "; it says, unsigned: " + said;
  }
  if (report.outcome == RequestOutcome::requestRejected && request.frames.size() == 1) {
    FrameResult charged;
    charged.outcome = Outcome::nack;
    charged.code = "unverified-refusal";
    charged.detail = report.error;
    report.outcome = RequestOutcome::answered;
    report.results.push_back(std::move(charged));
  }
  return report;
}

SendReport readWebhookAnswer(int status, std::string_view retryAfter, std::string_view contentType,
                             std::string_view body, std::optional<WallTime> now) {
  SendReport report;
  report.outcome = judge(status);
  report.retryAfter = waitOf(retryAfter, now);
  report.error = "HTTP " + std::to_string(status);
  if (!isSuccess(status)) {
    readText(contentType, body, report);
  }
  // Such receivers often answer 400 to a wrong signature: with a wrong secret, one answer must not cost a message that
  // a corrected secret would deliver. A fault is charged, and retried for as long as the policy says.
  if (isSuccess(status) || status == 400 || isFault(status)) {
    FrameResult result;
    result.outcome = Outcome::ack;
    if (!isSuccess(status)) {
      result.outcome = Outcome::nack;
      result.code = isFault(status) ? "server-error" : "bad-request";
      result.detail = report.error;
      result.retryAfter = report.retryAfter;
    }
    report.outcome = RequestOutcome::answered;
    report.results.push_back(std::move(result));
  }
  return report;
}

}  // namespace ackbox::protocol
