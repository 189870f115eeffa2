// Pull: `GET /v1/inbox/stream` and `POST /v1/inbox/take` give frames to an application, `POST /v1/inbox/settle` takes
// their outcomes.

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/pattern.hpp"
#include "json/line.hpp"
#include "protocol/wire.hpp"
#include "serve/api/operations.hpp"
#include "serve/api/service.hpp"
#include "serve/api/settlements.hpp"
#include "serve/http/answer.hpp"
#include "serve/inbox/frame_streams.hpp"

namespace ackbox::serve {
namespace {

constexpr std::uint64_t kWindowMost = 1'024;
// As many as one request may settle.
constexpr std::uint64_t kPollFramesMost = 256;
constexpr std::chrono::milliseconds kPollShortest = std::chrono::seconds(1);
constexpr std::chrono::milliseconds kPollWaitMost = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kLeaseMost = std::chrono::minutes(10);

Response noStreams() {
  return problemAnswer(404, "Not found",
                       "This server gives no frames to streams: neither inbox.pull nor inbox.mailboxes is configured.");
}

StreamWish takeWish(Query& query, const Caller& caller) {
  StreamWish wish;
  // A caller of one mailbox need not name it.
  wish.mailbox = query.text("mailbox").value_or(caller.onlyMailbox().value_or(std::string()));
  wish.types = query.text("types").value_or(wish.types);
  wish.sessions = query.text("sessions").value_or(wish.sessions);
  if (const std::string_view problem = patternProblem(wish.types); !problem.empty()) {
    throw InvalidRequest("types " + std::string(problem));
  }
  return wish;
}

PollLimits takePollLimits(Query& query) {
  PollLimits limits;
  limits.frames = query.count("max", kPollFramesMost).value_or(limits.frames);
  limits.wait = query.duration("wait").value_or(limits.wait);
  limits.lease = query.duration("lease").value_or(limits.lease);
  if (limits.frames == 0) {
    throw InvalidRequest("max must be from 1 to 256");
  }
  if (limits.wait < kPollShortest || limits.wait > kPollWaitMost) {
    throw InvalidRequest("wait must be from 1s to 30s");
  }
  if (limits.lease < kPollShortest || limits.lease > kLeaseMost) {
    throw InvalidRequest("lease must be from 1s to 10m");
  }
  return limits;
}

/// Answers, and returns false, if the caller gets no such frames.
bool mayHave(Service& service, StreamWish& wish, Request& request, const Respond& respond) {
  const std::shared_ptr<FrameStreams>& streams = service.frameStreams();
  wish.sharer = request.sharer();
  wish.isStillAllowed = std::move(request.isStillAllowed);
  if (!streams) {
    respond(noStreams());
    return false;
  }
  if (const std::optional<std::string> own = request.caller.onlyMailbox(); own && wish.mailbox != *own) {
    respond(problemAnswer(403, "Forbidden", "This token is for the mailbox of '" + *own + "' alone."));
    return false;
  }
  if (const std::optional<std::string> reason = streams->emptyBecause(wish)) {
    throw InvalidRequest(*reason);
  }
  return true;
}

Response tooMany() {
  return protocol::unavailable(
      false, "Too many streams are open, or too many with this token, or the server is being stopped.");
}

}  // namespace

void streamInbox(Service& service, Request&& request, std::shared_ptr<transport::AnswerStream> answer,
                 Respond&& respond) {
  StreamWish wish = takeWish(request.query, request.caller);
  wish.window = request.query.count("window", kWindowMost).value_or(wish.window);
  request.query.finish();
  if (wish.window == 0) {
    throw InvalidRequest("window must be from 1 to 1024");
  }
  if (mayHave(service, wish, request, respond) &&
      !service.frameStreams()->open(std::move(wish), std::move(answer), streamHead("application/x-ndjson"))) {
    respond(tooMany());
  }
}

void takeInbox(Service& service, Request&& request, Respond&& respond) {
  StreamWish wish = takeWish(request.query, request.caller);
  const PollLimits limits = takePollLimits(request.query);
  request.query.finish();
  if (mayHave(service, wish, request, respond) &&
      !service.frameStreams()->poll(std::move(wish), limits, textAnswer(200, {}, "application/x-ndjson"), respond,
                                    *request.client)) {
    respond(tooMany());
  }
}

void settleInbox(Service& service, Request&& request, Respond&& respond) {
  request.query.finish();
  const std::shared_ptr<FrameStreams>& streams = service.frameStreams();
  if (!streams) {
    respond(noStreams());
    return;
  }
  std::vector<Settlement> settlements = readSettlements(request.body);
  std::vector<std::string> receipts;
  receipts.reserve(settlements.size());
  for (const Settlement& settlement : settlements) {
    receipts.push_back(settlement.receipt);
  }
  streams->settle(
      std::move(settlements),
      [receipts = std::move(receipts), respond = std::move(respond)](const std::vector<bool>& settled) {
        std::string json = "{\"results\":[";
        for (std::size_t index = 0; index < receipts.size(); ++index) {
          json +=
              (index == 0 ? "" : ",") +
              json::Line().add("receipt", receipts[index]).add("status", settled[index] ? "settled" : "gone").text();
        }
        respond(jsonAnswer(200, json + "]}"));
      },
      request.caller.onlyMailbox());
}

}  // namespace ackbox::serve
