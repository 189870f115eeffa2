#include "transport/sent_request.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "protocol/http_date.hpp"
#include "protocol/wire.hpp"

namespace ackbox::transport {
namespace {

SendReport judge(const SentRequest& sent, const HttpAnswer& answer, WallTime now) {
  const SendRequest& request = sent.request;
  const std::string& delivery = sent.delivery;
  if (isSettledByStatus(sent.profile)) {
    return protocol::readWebhookAnswer(answer.status, answer.retryAfter, answer.contentType, answer.body, now);
  }
  if (!sent.keys) {
    SendReport report =
        protocol::readAnswer(request, delivery, answer.status, answer.contentType, answer.retryAfter, answer.body, now);
    if (answer.status == 401) {
      report.error = sent.hasOwnHeaders
                         ? "HTTP 401: the receiver does not accept the headers of this agent, or wants signed requests"
                         : "HTTP 401: the receiver wants signed requests, and this agent has no secrets for the peer";
    }
    return report;
  }
  // The id distinguishes the answer to this request from an answer to another one, and from a replayed request.
  const bool isForThis = answer.signature.id == std::string(protocol::kAnswerIdPrefix).append(delivery);
  // Uses the current keys: a key that was removed meanwhile verifies no answer.
  if (!isForThis ||
      sent.keys->current()->verify(answer.signature, answer.body, now) != protocol::SignatureVerdict::valid) {
    return protocol::readUnverifiedAnswer(request, answer.status, answer.retryAfter, answer.contentType, answer.body,
                                          now);
  }
  return protocol::readSignedAnswer(request, delivery, answer.status, answer.contentType, answer.retryAfter,
                                    answer.body, now);
}

// A receiver refuses a signature with a wrong clock without giving the reason, but its answer carries the time.
std::string clockNote(std::string_view date, WallTime now) {
  const std::optional<WallTime> theirs = protocol::parseHttpDate(date);
  if (!theirs) {
    return {};
  }
  const auto ahead = std::chrono::duration_cast<std::chrono::seconds>(now - *theirs);
  if (std::chrono::abs(ahead) < protocol::kSignatureTolerance) {
    return {};
  }
  return "; this machine's clock is " + std::to_string(std::chrono::abs(ahead).count()) + " s " +
         (ahead.count() > 0 ? "ahead of" : "behind") + " the peer's: set the one that is wrong";
}

SendReport read(const SentRequest& sent, HttpAnswer&& answer, WallTime now) {
  switch (answer.end) {
    case HttpEnd::answered: {
      SendReport report = judge(sent, answer, now);
      report.status = answer.status;
      if (answer.status == 401 && sent.keys) {
        report.error += clockNote(answer.date, now);
      }
      return report;
    }
    case HttpEnd::unavailable: {
      SendReport report = failure(RequestOutcome::peerUnavailable, std::move(answer.error));
      report.isUnclear = answer.isUnreadable;
      return report;
    }
    case HttpEnd::connectionLost:
      return failure(RequestOutcome::connectionLost, std::move(answer.error));
    case HttpEnd::shortage:
      return failure(RequestOutcome::notSent, std::move(answer.error));
    case HttpEnd::cancelled:
      return failure(RequestOutcome::cancelled, std::move(answer.error));
  }
  return failure(RequestOutcome::peerUnavailable, "unknown end of an exchange");
}

SendReport unreadable(std::string error) {
  SendReport report = failure(RequestOutcome::peerUnavailable, std::move(error));
  report.isUnclear = true;
  return report;
}

}  // namespace

bool isSettledByStatus(PeerProfile profile) noexcept {
  return profile != PeerProfile::native;
}

SendReport failure(RequestOutcome outcome, std::string error) {
  SendReport report;
  report.outcome = outcome;
  report.error = std::move(error);
  return report;
}

SendReport reportOf(const SentRequest& sent, HttpAnswer&& answer, WallTime now) {
  try {
    return read(sent, std::move(answer), now);
  } catch (const std::bad_alloc&) {
    return failure(RequestOutcome::notSent, "not enough memory to read the answer");
  } catch (const std::exception& error) {
    return unreadable(std::string("the answer could not be read: ") + error.what());
  } catch (...) {
    return unreadable("the answer could not be read");
  }
}

}  // namespace ackbox::transport
